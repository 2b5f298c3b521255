// A model argument on the command line: a model file, or a run directory that contains one.
#pragma once

#include "mega/config/files/model_path.h"
