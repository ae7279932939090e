#include "quern/text/references.hpp"

#include <charconv>
#include <unordered_map>

#include "quern/text/text_block.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// The first byte of U+FFFE and U+FFFF, and of many valid characters.
constexpr char noncharacter_lead = '\xEF';

constexpr std::uint32_t end_of_unicode = 0x110000;

/// A character by XML's rules (XML 1.0, production 2).
bool is_xml_character(std::uint32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
  return point < 0xd800 || (point >= 0xe000 && point <= 0xfffd) || (point >= 0x10000 && point < end_of_unicode);
}

bool is_name_byte(char c) { return is_ascii_letter(c) || is_ascii_digit(c); }

/// A reference in a page's text; `bytes` is 0 if there is none.
struct Reference {
  std::size_t bytes = 0;    ///< after the &, including its semicolon, if any
  std::uint32_t point = 0;  ///< end_of_unicode for greater numbers
};

/// Reads the number of a reference like "#233" or "#xE9;". Without digits the value is 0 and `bytes` counts the prefix.
Reference read_number(std::string_view text, std::size_t& digits) {
  const bool hexadecimal = text.size() > 1 && (text[1] | 0x20) == 'x';
  const std::size_t begin = hexadecimal ? 2 : 1;
  Reference found{begin, 0};
  for (; found.bytes < text.size(); ++found.bytes) {
    const int digit = hex_value(text[found.bytes]), base = hexadecimal ? 16 : 10;
    if (digit < 0 || digit >= base) break;
    found.point = std::min(found.point * static_cast<unsigned>(base) + static_cast<unsigned>(digit), end_of_unicode);
  }
  digits = found.bytes - begin;
  if (found.bytes < text.size() && text[found.bytes] == ';') ++found.bytes;
  return found;
}

/// The longest prefix of `text` that is a name valid without a semicolon.
Reference read_bare_name(std::string_view text) {
  for (std::size_t length = std::min(text.size(), max_bare_name_bytes); length > 1; --length)
    if (const std::uint32_t point = bare_entity_value(text.substr(0, length))) return {length, point};
  return {};
}

/// Reads the reference after an & in a page's text.
Reference read_reference(std::string_view text) {
  if (!text.empty() && text[0] == '#') {
    std::size_t digits = 0;
    const Reference number = read_number(text, digits);
    return digits > 0 ? number : Reference();
  }
  std::size_t length = 0;
  while (length < text.size() && is_name_byte(text[length])) ++length;
  const bool has_semicolon = length < text.size() && text[length] == ';' && length > 0 && is_ascii_letter(text[0]);
  const std::string_view name = text.substr(0, length);
  if (!has_semicolon) return read_bare_name(name);
  const std::uint32_t point = entity_value(name);
  return point == 0 ? Reference() : Reference{length + 1, point};
}

bool is_noncharacter(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

/// Longer references need no lookup.
constexpr std::size_t max_reference_bytes = 24;

void append_point(std::uint32_t point, std::string& out) {
  const bool is_control = point < 0x20 && point != '\t' && point != '\n';
  if (is_control) point = ' ';
  if (point >= end_of_unicode || (point >= 0xd800 && point <= 0xdfff))
    out += replacement_character;
  else
    append_utf8(point, out);
}

/// The code point of a reference, given without "&" and ";". False if it is not a reference.
bool resolve_reference(std::string_view reference, std::uint32_t& point) {
  if (reference.size() >= 2 && reference[0] == '#') {
    const bool is_hexadecimal = ascii_lower(reference[1]) == 'x';
    const std::string_view digits = reference.substr(is_hexadecimal ? 2 : 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), point, is_hexadecimal ? 16 : 10);
    return error == std::errc() && end == digits.data() + digits.size();
  }
  point = entity_value(reference);
  // Names used by the Federal Register that HTML lacks.
  if (reference == "blank") point = ' ';
  if (reference == "hyph") point = '-';
  return point != 0;
}

struct Entity {
  std::string_view name;
  std::uint32_t value;
};

/// Sorted by value.
constexpr Entity entities[] = {
    {"quot", 34},      {"amp", 38},      {"apos", 39},      {"lt", 60},       {"gt", 62},       {"nbsp", 160},
    {"iexcl", 161},    {"cent", 162},    {"pound", 163},    {"curren", 164},  {"yen", 165},     {"brvbar", 166},
    {"sect", 167},     {"uml", 168},     {"copy", 169},     {"ordf", 170},    {"laquo", 171},   {"not", 172},
    {"shy", 173},      {"reg", 174},     {"macr", 175},     {"deg", 176},     {"plusmn", 177},  {"sup2", 178},
    {"sup3", 179},     {"acute", 180},   {"micro", 181},    {"para", 182},    {"middot", 183},  {"cedil", 184},
    {"sup1", 185},     {"ordm", 186},    {"raquo", 187},    {"frac14", 188},  {"frac12", 189},  {"frac34", 190},
    {"iquest", 191},   {"Agrave", 192},  {"Aacute", 193},   {"Acirc", 194},   {"Atilde", 195},  {"Auml", 196},
    {"Aring", 197},    {"AElig", 198},   {"Ccedil", 199},   {"Egrave", 200},  {"Eacute", 201},  {"Ecirc", 202},
    {"Euml", 203},     {"Igrave", 204},  {"Iacute", 205},   {"Icirc", 206},   {"Iuml", 207},    {"ETH", 208},
    {"Ntilde", 209},   {"Ograve", 210},  {"Oacute", 211},   {"Ocirc", 212},   {"Otilde", 213},  {"Ouml", 214},
    {"times", 215},    {"Oslash", 216},  {"Ugrave", 217},   {"Uacute", 218},  {"Ucirc", 219},   {"Uuml", 220},
    {"Yacute", 221},   {"THORN", 222},   {"szlig", 223},    {"agrave", 224},  {"aacute", 225},  {"acirc", 226},
    {"atilde", 227},   {"auml", 228},    {"aring", 229},    {"aelig", 230},   {"ccedil", 231},  {"egrave", 232},
    {"eacute", 233},   {"ecirc", 234},   {"euml", 235},     {"igrave", 236},  {"iacute", 237},  {"icirc", 238},
    {"iuml", 239},     {"eth", 240},     {"ntilde", 241},   {"ograve", 242},  {"oacute", 243},  {"ocirc", 244},
    {"otilde", 245},   {"ouml", 246},    {"divide", 247},   {"oslash", 248},  {"ugrave", 249},  {"uacute", 250},
    {"ucirc", 251},    {"uuml", 252},    {"yacute", 253},   {"thorn", 254},   {"yuml", 255},    {"OElig", 338},
    {"oelig", 339},    {"Scaron", 352},  {"scaron", 353},   {"Yuml", 376},    {"fnof", 402},    {"circ", 710},
    {"tilde", 732},    {"Alpha", 913},   {"Beta", 914},     {"Gamma", 915},   {"Delta", 916},   {"Epsilon", 917},
    {"Zeta", 918},     {"Eta", 919},     {"Theta", 920},    {"Iota", 921},    {"Kappa", 922},   {"Lambda", 923},
    {"Mu", 924},       {"Nu", 925},      {"Xi", 926},       {"Omicron", 927}, {"Pi", 928},      {"Rho", 929},
    {"Sigma", 931},    {"Tau", 932},     {"Upsilon", 933},  {"Phi", 934},     {"Chi", 935},     {"Psi", 936},
    {"Omega", 937},    {"alpha", 945},   {"beta", 946},     {"gamma", 947},   {"delta", 948},   {"epsilon", 949},
    {"zeta", 950},     {"eta", 951},     {"theta", 952},    {"iota", 953},    {"kappa", 954},   {"lambda", 955},
    {"mu", 956},       {"nu", 957},      {"xi", 958},       {"omicron", 959}, {"pi", 960},      {"rho", 961},
    {"sigmaf", 962},   {"sigma", 963},   {"tau", 964},      {"upsilon", 965}, {"phi", 966},     {"chi", 967},
    {"psi", 968},      {"omega", 969},   {"thetasym", 977}, {"upsih", 978},   {"piv", 982},     {"ensp", 8194},
    {"emsp", 8195},    {"thinsp", 8201}, {"zwnj", 8204},    {"zwj", 8205},    {"lrm", 8206},    {"rlm", 8207},
    {"ndash", 8211},   {"mdash", 8212},  {"lsquo", 8216},   {"rsquo", 8217},  {"sbquo", 8218},  {"ldquo", 8220},
    {"rdquo", 8221},   {"bdquo", 8222},  {"dagger", 8224},  {"Dagger", 8225}, {"bull", 8226},   {"hellip", 8230},
    {"permil", 8240},  {"prime", 8242},  {"Prime", 8243},   {"lsaquo", 8249}, {"rsaquo", 8250}, {"oline", 8254},
    {"frasl", 8260},   {"euro", 8364},   {"image", 8465},   {"weierp", 8472}, {"real", 8476},   {"trade", 8482},
    {"alefsym", 8501}, {"larr", 8592},   {"uarr", 8593},    {"rarr", 8594},   {"darr", 8595},   {"harr", 8596},
    {"crarr", 8629},   {"lArr", 8656},   {"uArr", 8657},    {"rArr", 8658},   {"dArr", 8659},   {"hArr", 8660},
    {"forall", 8704},  {"part", 8706},   {"exist", 8707},   {"empty", 8709},  {"nabla", 8711},  {"isin", 8712},
    {"notin", 8713},   {"ni", 8715},     {"prod", 8719},    {"sum", 8721},    {"minus", 8722},  {"lowast", 8727},
    {"radic", 8730},   {"prop", 8733},   {"infin", 8734},   {"ang", 8736},    {"and", 8743},    {"or", 8744},
    {"cap", 8745},     {"cup", 8746},    {"int", 8747},     {"there4", 8756}, {"sim", 8764},    {"cong", 8773},
    {"asymp", 8776},   {"ne", 8800},     {"equiv", 8801},   {"le", 8804},     {"ge", 8805},     {"sub", 8834},
    {"sup", 8835},     {"nsub", 8836},   {"sube", 8838},    {"supe", 8839},   {"oplus", 8853},  {"otimes", 8855},
    {"perp", 8869},    {"sdot", 8901},   {"lceil", 8968},   {"rceil", 8969},  {"lfloor", 8970}, {"rfloor", 8971},
    {"lang", 9001},    {"rang", 9002},   {"loz", 9674},     {"spades", 9824}, {"clubs", 9827},  {"hearts", 9829},
    {"diams", 9830}};

constexpr PackedNameTable<9> entity_table(entities);

/// HTML 5's further names of letters, digits, punctuation, white space and what joins words; not of mathematical
/// symbols. Each is followed by its code point.
constexpr std::string_view html5_names =
    "Tab 9 NewLine 10 excl 33 QUOT 34 num 35 dollar 36 percnt 37 AMP 38 lpar 40 rpar 41 ast 42 midast 42 plus 43"
    " comma 44 period 46 sol 47 colon 58 semi 59 LT 60 equals 61 GT 62 quest 63 commat 64 lbrack 91 lsqb 91 bsol 92"
    " rbrack 93 rsqb 93 Hat 94 UnderBar 95 lowbar 95 DiacriticalGrave 96 grave 96 lbrace 123 lcub 123 VerticalLine 124"
    " verbar 124 vert 124 rbrace 125 rcub 125 NonBreakingSpace 160 Dot 168 DoubleDot 168 die 168 COPY 169 REG 174"
    " circledR 174 strns 175 PlusMinus 177 pm 177 DiacriticalAcute 180 CenterDot 183 centerdot 183 Cedilla 184 half"
    " 189 angst 197 div 247 Amacr 256 amacr 257 Abreve 258 abreve 259 Aogon 260 aogon 261 Cacute 262 cacute 263 Ccirc"
    " 264 ccirc 265 Cdot 266 cdot 267 Ccaron 268 ccaron 269 Dcaron 270 dcaron 271 Dstrok 272 dstrok 273 Emacr 274"
    " emacr 275 Edot 278 edot 279 Eogon 280 eogon 281 Ecaron 282 ecaron 283 Gcirc 284 gcirc 285 Gbreve 286 gbreve 287"
    " Gdot 288 gdot 289 Gcedil 290 Hcirc 292 hcirc 293 Hstrok 294 hstrok 295 Itilde 296 itilde 297 Imacr 298 imacr 299"
    " Iogon 302 iogon 303 Idot 304 imath 305 inodot 305 IJlig 306 ijlig 307 Jcirc 308 jcirc 309 Kcedil 310 kcedil 311"
    " kgreen 312 Lacute 313 lacute 314 Lcedil 315 lcedil 316 Lcaron 317 lcaron 318 Lmidot 319 lmidot 320 Lstrok 321"
    " lstrok 322 Nacute 323 nacute 324 Ncedil 325 ncedil 326 Ncaron 327 ncaron 328 napos 329 ENG 330 eng 331 Omacr 332"
    " omacr 333 Odblac 336 odblac 337 Racute 340 racute 341 Rcedil 342 rcedil 343 Rcaron 344 rcaron 345 Sacute 346"
    " sacute 347 Scirc 348 scirc 349 Scedil 350 scedil 351 Tcedil 354 tcedil 355 Tcaron 356 tcaron 357 Tstrok 358"
    " tstrok 359 Utilde 360 utilde 361 Umacr 362 umacr 363 Ubreve 364 ubreve 365 Uring 366 uring 367 Udblac 368 udblac"
    " 369 Uogon 370 uogon 371 Wcirc 372 wcirc 373 Ycirc 374 ycirc 375 Zacute 377 zacute 378 Zdot 379 zdot 380 Zcaron"
    " 381 zcaron 382 imped 437 gacute 501 jmath 567 Hacek 711 caron 711 ohm 937 epsi 949 sigmav 962 varsigma 962 upsi"
    " 965 thetav 977 vartheta 977 Upsi 978 phiv 981 straightphi 981 varphi 981 varpi 982 Gammad 988 digamma 989 gammad"
    " 989 kappav 1008 varkappa 1008 rhov 1009 varrho 1009 epsiv 1013 straightepsilon 1013 varepsilon 1013 IOcy 1025"
    " DJcy 1026 GJcy 1027 Jukcy 1028 DScy 1029 Iukcy 1030 YIcy 1031 Jsercy 1032 LJcy 1033 NJcy 1034 TSHcy 1035 KJcy"
    " 1036 Ubrcy 1038 DZcy 1039 Acy 1040 Bcy 1041 Vcy 1042 Gcy 1043 Dcy 1044 IEcy 1045 ZHcy 1046 Zcy 1047 Icy 1048 Jcy"
    " 1049 Kcy 1050 Lcy 1051 Mcy 1052 Ncy 1053 Ocy 1054 Pcy 1055 Rcy 1056 Scy 1057 Tcy 1058 Ucy 1059 Fcy 1060 KHcy"
    " 1061 TScy 1062 CHcy 1063 SHcy 1064 SHCHcy 1065 HARDcy 1066 Ycy 1067 SOFTcy 1068 Ecy 1069 YUcy 1070 YAcy 1071 acy"
    " 1072 bcy 1073 vcy 1074 gcy 1075 dcy 1076 iecy 1077 zhcy 1078 zcy 1079 icy 1080 jcy 1081 kcy 1082 lcy 1083 mcy"
    " 1084 ncy 1085 ocy 1086 pcy 1087 rcy 1088 scy 1089 tcy 1090 ucy 1091 fcy 1092 khcy 1093 tscy 1094 chcy 1095 shcy"
    " 1096 shchcy 1097 hardcy 1098 ycy 1099 softcy 1100 ecy 1101 yucy 1102 yacy 1103 iocy 1105 djcy 1106 gjcy 1107"
    " jukcy 1108 dscy 1109 iukcy 1110 yicy 1111 jsercy 1112 ljcy 1113 njcy 1114 tshcy 1115 kjcy 1116 ubrcy 1118 dzcy"
    " 1119 emsp13 8196 emsp14 8197 numsp 8199 puncsp 8200 ThinSpace 8201 VeryThinSpace 8202 hairsp 8202"
    " NegativeMediumSpace 8203 NegativeThickSpace 8203 NegativeThinSpace 8203 NegativeVeryThinSpace 8203"
    " ZeroWidthSpace 8203 dash 8208 hyphen 8208 horbar 8213 Verbar 8214 Vert 8214 OpenCurlyQuote 8216 CloseCurlyQuote"
    " 8217 rsquor 8217 lsquor 8218 OpenCurlyDoubleQuote 8220 CloseCurlyDoubleQuote 8221 rdquor 8221 ldquor 8222"
    " ddagger 8225 bullet 8226 nldr 8229 mldr 8230 pertenk 8241 tprime 8244 backprime 8245 bprime 8245 OverBar 8254"
    " caret 8257 hybull 8259 bsemi 8271 qprime 8279 MediumSpace 8287 NoBreak 8288 ApplyFunction 8289 af 8289"
    " InvisibleTimes 8290 it 8290 InvisibleComma 8291 ic 8291 frac13 8531 frac23 8532 frac15 8533 frac25 8534 frac35"
    " 8535 frac45 8536 frac16 8537 frac56 8538 frac18 8539 frac38 8540 frac58 8541 frac78 8542 bigstar 9733 starf 9733"
    " star 9734 phone 9742 female 9792 male 9794 check 10003 checkmark 10003 cross 10007 fflig 64256 filig 64257 fllig"
    " 64258 ffilig 64259 ffllig 64260";

std::uint32_t html5_value(std::string_view name) {
  static const auto values = [] {
    std::unordered_map<std::string_view, std::uint32_t> read;
    for (std::string_view rest = html5_names; !rest.empty();) {
      const std::string_view listed = take_until(rest, ' ');
      parse_number(take_until(rest, ' '), read[listed]);
    }
    return read;
  }();
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

constexpr std::size_t longest_entity_name = 8;

std::uint32_t html4_value(std::string_view name) {
  if (name.size() > longest_entity_name) return 0;
  const std::size_t row = entity_table.find(packed_name(name));
  return row == entity_table.none || entities[row].name.size() != name.size() ? 0 : entities[row].value;
}

}  // namespace

std::size_t find_markup_or_reference(std::string_view text, std::size_t from) {
  return find_any_of<'<', '&', '\f', noncharacter_lead>(text, from);
}

void append_page_text(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t plain = find_any_of<'&', '\f', noncharacter_lead>(text, 0);
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    std::size_t passed = 1;
    if (text[0] == noncharacter_lead) {
      if (is_noncharacter(text))
        passed = 3;
      else
        out += text[0];
    } else if (text[0] == '&') {
      const Reference reference = read_reference(text.substr(1));
      passed += reference.bytes;
      if (reference.bytes == 0)
        out += '&';
      else if (is_xml_character(reference.point))
        append_utf8(reference.point, out);
    }
    text.remove_prefix(passed);
  }
}

std::string_view attribute_text(std::string_view value, std::string& buffer) {
  std::size_t at = value.find('&');
  if (at == std::string_view::npos) return value;
  buffer.assign(value, 0, at);
  while (at < value.size()) {
    const std::string_view rest = value.substr(at + 1);
    Reference reference;
    if (!rest.empty() && rest[0] == '#') {
      std::size_t digits = 0;
      reference = read_number(rest, digits);
      if (!is_xml_character(reference.point)) break;
    } else {
      std::size_t length = 0;
      while (length < rest.size() && is_name_byte(rest[length])) ++length;
      const bool has_semicolon = length < rest.size() && rest[length] == ';';
      if (has_semicolon) reference = {length + 1, entity_value(rest.substr(0, length))};
    }
    const std::size_t begin = at;
    at += 1;
    if (reference.point != 0) {
      append_utf8(reference.point, buffer);
      at += reference.bytes;
    }
    const std::size_t next = std::min(value.find('&', at), value.size());
    const std::size_t copied = reference.point != 0 ? at : begin;
    buffer.append(value, copied, next - copied);
    at = next;
  }
  return buffer;
}

std::size_t decided_page_text_bytes(std::string_view text, std::size_t max_bytes) {
  const std::size_t whole = text.size() - partial_character_bytes(text);
  if (whole < text.size()) return whole;
  std::size_t begin = text.size();
  while (begin > 0 && (is_name_byte(text[begin - 1]) || text[begin - 1] == '#')) --begin;
  const bool is_open = begin > 0 && text[begin - 1] == '&' && text.size() - begin < max_bytes;
  return is_open ? begin - 1 : text.size();
}

void append_without_references(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t ampersand = text.find('&');
    out += text.substr(0, ampersand);
    if (ampersand == std::string_view::npos) return;
    text.remove_prefix(ampersand + 1);
    const std::size_t semicolon = text.substr(0, max_reference_bytes).find(';');
    std::uint32_t point = 0;
    if (semicolon != std::string_view::npos && resolve_reference(text.substr(0, semicolon), point)) {
      append_point(point, out);
      text.remove_prefix(semicolon + 1);
    } else {
      out += '&';
    }
  }
}

std::uint32_t entity_value(std::string_view name) {
  const std::uint32_t value = html4_value(name);
  return value != 0 ? value : html5_value(name);
}

std::uint32_t bare_entity_value(std::string_view name) {
  constexpr std::uint32_t end_of_latin1 = 0x100;
  const std::uint32_t value = html4_value(name);
  return value < end_of_latin1 && value != '\'' ? value : 0;
}

}  // namespace quern
