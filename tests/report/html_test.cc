#include "mega/report/html.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/base/well_formed.h"

namespace mega::html {
namespace {

using testing::contains;
using testing::markup_fault;

TEST(Html, CellsOfTextAreEscaped) {
  const std::string html =
      table({{"a < b", "name"}, {"c", "number"}}, {{"<b>", Cell::markup("<b>1</b>")}}, "x & y");
  EXPECT_EQ(markup_fault(html), "");
  for (const char* part : {"<caption>x &amp; y</caption>", "<th scope=\"col\" class=\"name\">a &lt; b</th>",
                           "<td class=\"name\">&lt;b&gt;</td>", "<td class=\"number\"><b>1</b></td>"})
    EXPECT_PRED2(contains, html, part);
}

TEST(Html, StackedTablesNameEachCell) {
  const std::string html = table({{"\"a\"", "name"}}, {{"1"}}, "", Narrow::stack);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_PRED2(contains, html, "<td class=\"name\" data-name=\"&quot;a&quot;\">1</td>");
}

TEST(Html, HeadingsAndSummariesAreText) {
  EXPECT_EQ(section("<i>", "<p>1</p>"), "<section><h2>&lt;i&gt;</h2>\n<p>1</p></section>\n");
  EXPECT_EQ(fold("<i>", "<p>1</p>"), "<details><summary>&lt;i&gt;</summary>\n<p>1</p></details>\n");
}

TEST(Html, PagesForbidScriptsAndNetwork) {
  const std::string html = page("</title>", "<p>1</p>");
  EXPECT_EQ(markup_fault(html, {"meta"}), "");
  EXPECT_PRED2(contains, html, "<title>&lt;/title&gt;</title>");
  EXPECT_PRED2(contains, html, "default-src 'none'");
}

}  // namespace
}  // namespace mega::html
