// What kind of character a code point is, by Unicode 14.0: for cutting text into words as other programs do
// it, whose rules name these classes.
//
// Code points that are none (surrogates, beyond U+10FFFF) and those that are unassigned are in no class.
#pragma once

namespace mega {

// General categories: P, S (and Sc), N (and Nd), L, M; opening and closing quotation marks: Pi, Pf.
bool is_punctuation(char32_t point);
bool is_opening_quote(char32_t point);
bool is_closing_quote(char32_t point);
bool is_symbol(char32_t point);
bool is_currency(char32_t point);
bool is_number(char32_t point);
bool is_decimal_digit(char32_t point);
bool is_letter(char32_t point);
bool is_mark(char32_t point);

// Properties: Alphabetic (letters, letter numbers, marks that write a vowel); that or a decimal digit;
// Lowercase, Uppercase; White_Space. As a regular expression of Perl has them: \p{IsAlpha}, \p{IsAlnum},
// \p{IsLower}, \p{IsUpper}, \s.
bool is_alphabetic(char32_t point);
bool is_alnum(char32_t point);
bool is_lower(char32_t point);
bool is_upper(char32_t point);
bool is_space(char32_t point);

// Chinese, Japanese or Korean: blocks of characters and of their punctuation, between which no blank is
// written.
bool is_cjk(char32_t point);

// The lower case where it is one character, which depends on nothing around it; otherwise the point itself.
char32_t to_lower(char32_t point);

}  // namespace mega
