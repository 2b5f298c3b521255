// What looks wrong with a data set that can be read: a mistake that training would not notice, but the user
// would, hours later.
#pragma once

#include <string>
#include <vector>

#include "mega/data/dataset.h"

namespace mega::data {

// One line each, what was seen and what to do about it: a header taken for an example, as many classes as
// examples, classes of one example, numbers taken for classes, inputs that are ids, empty or all the same,
// missing splits, examples of the test that are trained on, and the like. Empty where nothing is suspicious.
// `request` is what the data set was loaded by. Looks at every label and place, and at the content of some
// examples.
std::vector<std::string> find_suspicions(const Dataset& dataset, const DatasetRequest& request);

}  // namespace mega::data
