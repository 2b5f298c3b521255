#include "mega/text/abbreviations.h"

#include <algorithm>
#include <array>
#include <span>

#include "mega/base/utf8.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

using Words = std::span<const std::string_view>;

struct Language {
  std::string_view name;
  Words always;
  Words before_number;
  bool lower_letters;  // single small letters are abbreviations too
  bool ordinals;
};

constexpr std::string_view kEnglish[] = {
    // Titles and ranks.
    "Adm", "Brig", "Capt", "Cmdr", "Col", "Cpl", "Det", "DR", "Dr", "Drs", "Ens", "Gen", "Gov", "Hon", "Insp",
    "Lt", "Maj", "Messrs", "Mlle", "Mme", "MR", "Mr", "MRS", "Mrs", "MS", "Ms", "Mx", "Prof", "Pvt", "Rep",
    "Reps", "Rev", "Sen", "Sens", "Sgt", "Sr", "St", "Supt",
    // Firms and buildings.
    "Bldg", "Bros", "Corp", "Hosp",
    // In running text.
    "e.g", "i.e", "rev", "v", "viz", "vs"};
constexpr std::string_view kEnglishNumbers[] = {"Art", "Fig", "No", "Nos", "Nr", "Vol", "pp"};

constexpr std::string_view kGerman[] = {
    "Abb",  "Abs",  "Abt",  "Anm",   "Art",   "Aufl", "Az",   "Bd",    "Bde",     "Bhf",        "Bsp",
    "Chr",  "Co",   "Dipl", "Dr",    "Fa",    "Fr",   "Frl",  "Gebr",  "Hr",      "Hrn",        "Hrsg",
    "Ing",  "Jh",   "Kap",  "Mag",   "Mio",   "Mrd",  "Mr",   "Mrs",   "Nr",      "Prof",       "Red",
    "St",   "Str",  "Tel",  "Tsd",   "Verf",  "Vgl",  "Ziff", "Zt",    "allg",    "beispielsw", "bez",
    "bspw", "bzgl", "bzw",  "ca",    "dgl",   "dt",   "ebd",  "eigtl", "einschl", "engl",       "entspr",
    "etc",  "ev",   "evtl", "ff",    "franz", "geb",  "gegr", "gem",   "gest",    "ggf",        "inkl",
    "insb", "jr",   "kath", "lat",   "max",   "mind", "min",  "mtl",   "n.Chr",   "od",         "phil",
    "rd",   "sog",  "st",   "städt", "tägl",  "u.a",  "usf",  "usw",   "v.Chr",   "verh",       "vgl",
    "vorm", "vs",   "z.B",  "z.Zt",  "zw",    "zzgl"};
constexpr std::string_view kGermanNumbers[] = {"S", "Jan", "Feb", "Apr", "Aug", "Sept", "Okt", "Nov", "Dez"};

constexpr std::string_view kFrench[] = {
    "Bd",   "Dr",   "Drs",    "Ets",  "Me",   "Mgr",  "MM",    "Mlle", "Mlles", "Mme", "Mmes", "Pr",
    "Prof", "Sté",  "St",     "Ste",  "adj",  "adv",  "al",    "ann",  "apr",   "art", "av",   "bd",
    "bibl", "boul", "c.-à-d", "ca",   "cf",   "chap", "coll",  "dép",  "dir",   "éd",  "env",  "etc",
    "ex",   "fasc", "fém",    "fig",  "hab",  "ibid", "id",    "inf",  "masc",  "max", "min",  "pl",
    "pp",   "rem",  "sec",    "sing", "suiv", "sup",  "suppl", "tél",  "trad",  "vol", "zool"};
constexpr std::string_view kFrenchNumbers[] = {"No", "Nos", "no", "nos"};

constexpr std::string_view kRomanian[] = {
    "D-na", "Dl",  "Dr",  "Dvs",  "Ing",  "Prof",    "Pt",   "Sf",  "Str", "adj",  "adv", "alin", "art",
    "bd",   "bl",  "cap", "cf",   "conf", "cca",     "d-na", "dl",  "dna", "dpdv", "dr",  "dvs",  "ed",
    "etc",  "ex",  "fig", "ing",  "jud",  "lat",     "lb",   "max", "mil", "min",  "mld", "mun",  "nr",
    "obs",  "op",  "or",  "pag",  "par",  "pct",     "prof", "pt",  "ref", "reg",  "sec", "sf",   "sg",
    "sing", "str", "tel", "trim", "ș.a",  "ș.a.m.d", "șamd", "urm", "vol"};
constexpr std::string_view kRomanianNumbers[] = {"Nr", "No"};

constexpr std::string_view kCzech[] = {
    "Bc",     "BcA",  "Dr",   "DrSc",    "CSc",  "Ing", "JUDr",  "MUDr",  "MVDr", "MgA",  "Mgr",
    "PaedDr", "Ph.D", "PhDr", "PharmDr", "RNDr", "Sv",  "ThDr",  "ThLic", "apod", "arch", "atd",
    "atp",    "cca",  "cit",  "č",       "čes",  "doc", "event", "fr",    "gen",  "kap",  "kol",
    "lat",    "max",  "mil",  "min",     "mj",   "mld", "mt",    "nám",   "např", "násl", "něm",
    "obr",    "odst", "op",   "pí",      "pl",   "plk", "pol",   "pozn",  "prof", "př",   "příp",
    "red",    "resp", "roč",  "s.r.o",   "srov", "st",  "str",   "sv",    "tab",  "tel",  "tis",
    "tj",     "tzn",  "tzv",  "ul",      "vč",   "vl",  "vyd",   "zejm",  "zkr"};

constexpr Language kLanguages[] = {{"en", kEnglish, kEnglishNumbers, false, false},
                                   {"de", kGerman, kGermanNumbers, true, true},
                                   {"fr", kFrench, kFrenchNumbers, true, false},
                                   {"ro", kRomanian, kRomanianNumbers, false, false},
                                   {"cs", kCzech, {}, true, true}};

bool has(Words words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_short_number(std::string_view word) {
  return word.size() <= 2 && word[0] != '0' &&
         std::all_of(word.begin(), word.end(), [](char c) { return '0' <= c && c <= '9'; });
}

bool is_letter_of(const Language& language, std::string_view word) {
  const Character first = first_character(word);
  if (!first.valid || first.length != word.size()) return false;
  return is_upper(first.point) || (language.lower_letters && is_lower(first.point));
}

}  // namespace

Abbreviation abbreviation(std::string_view word, std::string_view name) {
  if (word.empty()) return Abbreviation::none;
  const Language* language = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                          [&](const Language& known) { return known.name == name; });
  if (language == std::end(kLanguages)) language = &kLanguages[0];
  if (is_letter_of(*language, word) || has(language->always, word)) return Abbreviation::always;
  if (language->ordinals && is_short_number(word)) return Abbreviation::always;
  return has(language->before_number, word) ? Abbreviation::before_number : Abbreviation::none;
}

}  // namespace mega
