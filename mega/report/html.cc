#include "mega/report/html.h"

#include <utility>

#include "mega/report/markup.h"

namespace mega::html {
namespace {

constexpr const char* kPageStyle = R"(
:root{--ink:#24292f;--faint:#656d76;--ground:#fff;--raised:#f6f8fa;--line:#e3e6ea;
--warn:#9a6700;--good:#00714f;--accent:#0072b2}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--faint:#98a1ab;--ground:#15181c;--raised:#1d2126;
--line:#30363d;--warn:#e3b341;--good:#3fc99a;--accent:#58b0ea;color-scheme:dark}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:68rem;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.5rem 0 .75rem}
h3{font-size:.95rem;margin:1.25rem 0 .25rem}
.lead{font-size:1.05rem;overflow-wrap:anywhere}
p{margin:.25rem 0}
.faint,caption{color:var(--faint)}
code,.mono{font:.86em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{margin:.75rem 0;padding:.6rem .8rem;background:var(--raised);border-radius:6px;white-space:pre-wrap}
.metrics{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.75rem;margin:1.5rem 0}
.metrics div{padding:.7rem .9rem;background:var(--raised);border-radius:8px}
.metrics dt{color:var(--faint);font-size:.82rem}
.metrics dd{margin:0;font-size:1.15rem;font-weight:600;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.notes{padding:.6rem 1rem .6rem 2rem;border-left:3px solid var(--warn);background:var(--raised);margin:1rem 0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1.5rem}
figure{margin:0;break-inside:avoid}
svg{max-width:100%;height:auto;display:block}
.scroll{overflow-x:auto}
.scroll svg{max-width:none}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding-bottom:.4rem}
th,td{padding:.35rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
unicode-bidi:isolate}
th{color:var(--faint);font-weight:500;white-space:nowrap}
th.mono{font:inherit;font-weight:500}
.number{text-align:right;white-space:nowrap}
.text{min-width:14rem;overflow-wrap:anywhere;white-space:pre-wrap}
.name{overflow-wrap:break-word}
.where{min-width:9rem;overflow-wrap:anywhere}
.input{min-width:18rem}
.small{max-width:36rem}
.excerpt,.sample{font:.86em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;
overflow-wrap:anywhere;unicode-bidi:plaintext}
.sample{margin:0;padding:.6rem .8rem;background:var(--raised);border-radius:6px}
.picture{display:block;image-rendering:pixelated;border-radius:3px}
.gallery{display:flex;flex-wrap:wrap;gap:1rem;font-size:.82rem}
.gallery figure{width:6.5rem}
.gallery .where{min-width:0}
.mega-spark{color:var(--accent)}
.best{padding:.05rem .4rem;border:1px solid;border-radius:1rem;color:var(--good);font-size:.78rem}
details{margin:.75rem 0}
summary{cursor:pointer;color:var(--accent)}
@media(max-width:40rem){table{font-size:.82rem}th,td{padding:.35rem .3rem}}
@media(max-width:52rem){.stack thead{display:none}.stack,.stack tbody,.stack tr,.stack td{display:block}
.stack tr{padding:.6rem 0;border-bottom:1px solid var(--line)}
.stack td{display:grid;grid-template-columns:6.5rem minmax(0,1fr);padding:.15rem 0;border:0;text-align:left;
min-width:0;white-space:normal}
.stack td>*{grid-column:2}
.stack td::before{content:attr(data-name);color:var(--faint);font:.82rem/1.6 system-ui,sans-serif}}
tr{break-inside:avoid}
footer{margin-top:3rem;color:var(--faint);font-size:.82rem}
@media print{body{max-width:none;padding:0;font-size:11px}h2{break-after:avoid}}
)";

}  // namespace

Cell::Cell(std::string_view text) : markup_(escape_markup(text)) {}

Cell Cell::markup(std::string markup) {
  Cell cell;
  cell.markup_ = std::move(markup);
  return cell;
}

std::string table(const std::vector<Column>& columns, const Rows& rows, const std::string& caption,
                  Narrow narrow) {
  const bool stacks = narrow == Narrow::stack;
  std::string html =
      std::string("<div class=\"scroll\" tabindex=\"0\"><table") + (stacks ? " class=\"stack\">" : ">");
  if (!caption.empty()) html += "<caption>" + escape_markup(caption) + "</caption>";
  html += "<thead><tr>";
  for (const Column& column : columns)
    html += std::string("<th scope=\"col\" class=\"") + column.kind + "\">" + escape_markup(column.name) +
            "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      // The style of a stacked row shows the column's name before the cell.
      const std::string name = stacks ? " data-name=\"" + escape_markup(columns[i].name) + "\"" : "";
      html += std::string("<td class=\"") + columns[i].kind + "\"" + name + ">" + row[i].markup() + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string section(const std::string& heading, const std::string& content) {
  return "<section><h2>" + escape_markup(heading) + "</h2>\n" + content + "</section>\n";
}

std::string fold(const std::string& summary, const std::string& content) {
  return "<details><summary>" + escape_markup(summary) + "</summary>\n" + content + "</details>\n";
}

std::string figure(const std::string& svg, const char* kind) {
  const std::string kind_attribute = *kind == '\0' ? "" : std::string(" class=\"") + kind + "\"";
  return "<figure" + kind_attribute + ">" + svg + "</figure>\n";
}

std::string page(const std::string& title, const std::string& content) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta http-equiv=\"Content-Security-Policy\" "
         "content=\"default-src 'none';style-src 'unsafe-inline';img-src data:\">"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\"><title>" +
         escape_markup(title) + "</title><style>" + kPageStyle + "</style></head>\n<body>\n" + content +
         "</body></html>\n";
}

}  // namespace mega::html
