// A model argument on the command line: a model file, or a run directory that contains one.
#pragma once

#include "mega/config/model_path.h"
