#include "mega/config/model_kind.h"

#include "mega/base/error.h"

namespace mega {

ReadingPlan ModelKind::reading() const { fail("only a language model reads running text"); }
void ModelKind::set_chunk(int64_t) { fail("only a Mega model attends in chunks"); }
bool ModelKind::match(const ModelKind&) { return false; }

}  // namespace mega
