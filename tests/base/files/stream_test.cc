#include "mega/base/files/stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/base/random.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using namespace std::literals;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// "hello\n" compressed by the programs gzip, xz (with a delta filter) and zstd.
constexpr std::string_view kGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06\x00\x00\x00"sv;
constexpr std::string_view kXz =
    "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x01\x03\x01\x01\x21\x01\x16\x1c\x47\x78\x56"
    "\x01\x00\x05\x68\x65\x04\x07\x03\x9e\x00\x00\x00\xa5\x60\x97\xf1\x94\xf6\xfd\xe0\x00\x01\x1e\x06"
    "\xc1\x2f\xa4\x1d\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a"sv;
constexpr std::string_view kZstd =
    "\x28\xb5\x2f\xfd\x04\x58\x31\x00\x00\x68\x65\x6c\x6c\x6f\x0a\x53\x88\xbd\x91"sv;

std::string twice(std::string_view text) { return std::string(text) + std::string(text); }

// Text without a simple period that compresses to about half its size.
std::string some_text(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + mix_bits(i) % 16);
  return text;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

// Redirects standard input to a file for its lifetime.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& path) : saved_(::dup(STDIN_FILENO)) {
    const int file = ::open(path.c_str(), O_RDONLY);
    ::dup2(file, STDIN_FILENO);
    ::close(file);
  }
  ~StandardInput() {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int saved_;
};

TEST(InputStream, DecompressesFilesOfOtherPrograms) {
  const ScratchFolder folder;
  for (const std::string_view packed : {kGzip, kXz, kZstd}) {
    write_file(folder / "file", packed);
    EXPECT_EQ(read_stream(folder / "file"), "hello\n");
    write_file(folder / "file", twice(packed));
    EXPECT_EQ(read_stream(folder / "file"), "hello\nhello\n") << "concatenated compressed files";
  }
  write_file(folder / "padded", std::string(kGzip) + std::string(1000, '\0') + std::string(kGzip));
  EXPECT_EQ(read_stream(folder / "padded"), "hello\nhello\n");
  write_file(folder / "skippable", "\x50\x2a\x4d\x18\x02\x00\x00\x00--"s + std::string(kZstd));
  EXPECT_EQ(read_stream(folder / "skippable"), "hello\n");
}

TEST(InputStream, ReadsPlainFilesUnchanged) {
  const ScratchFolder folder;
  for (const std::string_view text :
       {""sv, "a"sv, "\x1f\x8b"sv, "\xfd\x37zXY\0\0"sv, "(text)"sv, "P"sv, "\0\n\0"sv}) {
    write_file(folder / "file", text);
    EXPECT_EQ(read_stream(folder / "file"), text);
  }
}

TEST(InputStream, ReadFillsTheSpanUntilTheEnd) {
  const ScratchFolder folder;
  const std::string text = some_text(1'000'001);
  for (const char* name : {"a.txt", "a.gz", "a.xz", "a.zst"}) {
    OutputStream out(folder / name);
    out.write(text);
    out.commit();
    InputStream stream(folder / name);
    std::string got;
    std::string piece(1000, '\0');
    size_t count = 0;
    while ((count = stream.read(piece)) == piece.size()) got += piece;
    EXPECT_EQ(count, 1u) << name;
    EXPECT_EQ(got + piece.substr(0, count), text) << name;
    EXPECT_EQ(stream.read(piece), 0u) << name;
    EXPECT_EQ(stream.read({}), 0u) << name;
  }
}

TEST(InputStream, ReadsStandardInputPlainOrCompressed) {
  const ScratchFolder folder;
  for (const std::string_view bytes : {"hello\n"sv, kGzip, kXz, kZstd}) {
    write_file(folder / "file", bytes);
    const StandardInput input(folder / "file");
    EXPECT_EQ(read_stream("-"), "hello\n");
  }
  write_file(folder / "file", kGzip.substr(0, 12));
  const StandardInput input(folder / "file");
  EXPECT_PRED2(contains, error_of([] { read_stream("-"); }), "standard input: the file is truncated");
}

TEST(InputStream, EveryTruncationIsAnError) {
  const ScratchFolder folder;
  for (const std::string_view packed : {kGzip, kXz, kZstd}) {
    constexpr size_t kMagic = 6;  // shorter files are not recognised as compressed
    for (size_t size = kMagic; size < packed.size(); ++size) {
      write_file(folder / "cut", packed.substr(0, size));
      EXPECT_PRED2(contains, error_of([&] { read_stream(folder / "cut"); }), "cut: the file is truncated")
          << size;
      write_file(folder / "cut", std::string(packed) + std::string(packed.substr(0, size)));
      EXPECT_PRED2(contains, error_of([&] { read_stream(folder / "cut"); }), "cut: the file is truncated")
          << size;
    }
  }
}

TEST(InputStream, DetectsDamage) {
  const ScratchFolder folder;
  for (const std::string_view packed : {kGzip, kXz, kZstd}) {
    for (size_t i = 0; i < packed.size(); ++i) {
      std::string damaged(packed);
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      write_file(folder / "file", damaged);
      try {
        // With a damaged magic number it is a plain file; a few header bytes of gzip do not affect the
        // content.
        const std::string got = read_stream(folder / "file");
        EXPECT_TRUE(got == damaged || got == "hello\n") << i;
      } catch (const Error& error) {
        EXPECT_PRED2(contains, error.what(), "file: ");
      }
    }
  }
  write_file(folder / "file", std::string(kGzip) + "garbage");
  EXPECT_PRED2(contains, error_of([&] { read_stream(folder / "file"); }),
               "file: the compressed data is damaged");
}

TEST(InputStream, LimitsMemoryForMaliciousFiles) {
  const ScratchFolder folder;
  // Both request a window of more than a gigabyte.
  const std::string zstd("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00\x00\x00", 11);
  const std::string xz =
      std::string(kXz.substr(0, 12)) +
      std::string("\x02\x00\x21\x01\x28\x00\x00\x00\xe6\xa0\x11\xb3\x01\x00\x05hello\n", 21);
  for (const std::string& bytes : {zstd, xz}) {
    write_file(folder / "huge", bytes);
    EXPECT_PRED2(contains, error_of([&] { read_stream(folder / "huge"); }),
                 "huge: decompression needs more than the 1.0 GiB");
  }
}

TEST(InputStream, ErrorsNamePathAndReason) {
  const ScratchFolder folder;
  EXPECT_PRED2(contains, error_of([&] { InputStream stream(folder / "none"); }),
               "none: cannot open: No such file");
  EXPECT_PRED2(contains, error_of([&] { InputStream stream(folder.path()); }), "is a folder");
  write_file(folder / "secret", "x");
  ::chmod((folder / "secret").c_str(), 0);
  if (::geteuid() != 0) {  // root can read everything
    EXPECT_PRED2(contains, error_of([&] { InputStream stream(folder / "secret"); }),
                 "cannot open: Permission denied");
  }
}

TEST(InputStream, CanBeMoved) {
  const ScratchFolder folder;
  write_file(folder / "file", "text");
  InputStream first(folder / "file");
  InputStream second(std::move(first));
  std::string text(4, '\0');
  EXPECT_EQ(second.read(text), 4u);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(second.name(), (folder / "file").string());
}

TEST(ReadStream, EnforcesTheSizeLimit) {
  const ScratchFolder folder;
  OutputStream out(folder / "bomb.zst");
  for (int i = 0; i < 64; ++i) out.write(std::string(1 << 20, 'x'));
  out.commit();
  EXPECT_LT(std::filesystem::file_size(folder / "bomb.zst"), 100'000u);
  EXPECT_PRED2(contains, error_of([&] { read_stream(folder / "bomb.zst", 1 << 20); }), "more than 1.0 MiB");
  EXPECT_EQ(read_stream(folder / "bomb.zst", 64 << 20).size(), 64u << 20);
  EXPECT_THROW(read_stream(folder / "bomb.zst", (64 << 20) - 1), Error);
}

TEST(LineReader, StripsBothLineEndings) {
  const ScratchFolder folder;
  using Lines = std::vector<std::string>;
  const std::vector<std::pair<std::string_view, Lines>> cases = {
      {""sv, {}},
      {"\n"sv, {""}},
      {"a"sv, {"a"}},
      {"a\n"sv, {"a"}},
      {"a\nb"sv, {"a", "b"}},
      {"a\r\nb\r\n"sv, {"a", "b"}},
      {"\r\n\n"sv, {"", ""}},
      {"a\rb\n"sv, {"a\rb"}},
      {"a\r\r\n"sv, {"a\r"}},
      {"a\r"sv, {"a\r"}},
      {"\0\n\xff\n"sv, {std::string(1, '\0'), "\xff"}},
  };
  for (const auto& [text, lines] : cases) {
    write_file(folder / "file", text);
    EXPECT_EQ(lines_of(folder / "file"), lines) << text;
  }
}

TEST(LineReader, ReportsFileAndLine) {
  const ScratchFolder folder;
  write_file(folder / "a.tsv", "x\n\ny");
  LineReader reader(folder / "a.tsv");
  std::string line;
  EXPECT_EQ(reader.number(), 0);
  for (int64_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(reader.number(), number);
    EXPECT_EQ(reader.where(), (folder / "a.tsv").string() + ":" + std::to_string(number));
  }
  EXPECT_EQ(line, "y");
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.number(), 3);
}

TEST(LineReader, LinesOfEveryLengthAroundItsBuffer) {
  const ScratchFolder folder;
  std::vector<std::string> lines;
  for (const size_t size : {0, 1, 131071, 131072, 131073, 262143, 262144, 262145, 10'000'000, 3, 0, 524288})
    lines.push_back(some_text(size));
  for (const char* name : {"lines", "lines.gz", "lines.zst"}) {
    OutputStream out(folder / name);
    for (const std::string& line : lines) {
      out.write(line);
      out.write("\r\n");
    }
    out.commit();
    EXPECT_TRUE(lines_of(folder / name) == lines) << name;
  }
}

TEST(LineReader, ALineThatIsTooLongIsAnError) {
  const ScratchFolder folder;
  for (const char* ending : {"", "\n", "\r\n"}) {
    write_file(folder / "file", "\n1234567890" + std::string(ending));
    LineReader enough(folder / "file", 10);
    std::string line;
    EXPECT_TRUE(enough.next(line) && enough.next(line));
    LineReader reader(folder / "file", 9);
    EXPECT_TRUE(reader.next(line));
    EXPECT_PRED2(contains, error_of([&] { reader.next(line); }), "file:2: the line is longer than 9 B");
  }
  // Detected before the whole line is read.
  OutputStream out(folder / "endless.gz");
  for (int i = 0; i < 64; ++i) out.write(std::string(1 << 20, 'x'));
  out.commit();
  LineReader reader(folder / "endless.gz", 1 << 20);
  std::string line;
  EXPECT_THROW(reader.next(line), Error);
}

TEST(LineReader, DoesNotWaitForMoreThanALine) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);

  ASSERT_EQ(::write(ends[1], "a\nb", 3), 3);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  std::string line;
  ASSERT_TRUE(reader.next(line)) << "while the writing end is still open";
  EXPECT_EQ(line, "a");
  ASSERT_EQ(::write(ends[1], "c\n", 2), 2);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "bc");
  ::close(ends[1]);
  EXPECT_FALSE(reader.next(line));
  ::close(ends[0]);
}

TEST(OutputStream, CompressesAccordingToExtension) {
  const ScratchFolder folder;
  const std::string text = some_text(700'000);
  const std::pair<const char*, std::string_view> kinds[] = {
      {"a.txt", ""sv}, {"a.gz", "\x1f\x8b"sv}, {"a.xz", "\xfd\x37zXZ"sv}, {"a.zst", "\x28\xb5\x2f\xfd"sv}};
  for (const auto& [name, magic] : kinds) {
    OutputStream out(folder / name);
    out.write("");
    for (size_t i = 0; i < text.size(); i += 7) out.write(std::string_view(text).substr(i, 7));
    out.write(text);
    out.commit();
    const std::string file = read_file(folder / name);
    EXPECT_TRUE(file.starts_with(magic)) << name;
    EXPECT_LT(file.size(), magic.empty() ? text.size() * 3 : text.size() * 3 / 2) << name;
    EXPECT_TRUE(read_stream(folder / name) == text + text) << name;

    OutputStream empty(folder / name);
    empty.commit();
    EXPECT_EQ(read_stream(folder / name), "") << name;
  }
}

TEST(OutputStream, LeavesTheOldFileUntilCommitted) {
  const ScratchFolder folder;
  write_file(folder / "a.gz", "old");
  {
    OutputStream out(folder / "a.gz");
    out.write(some_text(1'000'000));
  }
  EXPECT_EQ(read_file(folder / "a.gz"), "old");
  OutputStream out(folder / "a.gz");
  out.commit();
  EXPECT_THROW(out.write("more"), Error);
  EXPECT_THROW(out.commit(), Error);
  EXPECT_PRED2(contains, error_of([&] { OutputStream none(folder / "no/such.gz"); }),
               "such.gz: cannot create");
}

TEST(OutputStream, CompressedFileDependsOnlyOnContent) {
  const ScratchFolder folder;
  for (const char* ending : {".gz", ".xz", ".zst"}) {
    for (const char* name : {"a", "b"}) {
      OutputStream out(folder / (std::string(name) + ending).c_str());
      out.write("text");
      out.commit();
    }
    EXPECT_EQ(read_file(folder / ("a"s + ending).c_str()), read_file(folder / ("b"s + ending).c_str()));
  }
}

TEST(WithoutPacking, RemovesOneExtension) {
  EXPECT_EQ(without_packing("reviews.tsv.gz"), "reviews.tsv");
  EXPECT_EQ(without_packing("some/folder.gz/reviews.tsv.xz"), "some/folder.gz/reviews.tsv");
  EXPECT_EQ(without_packing("a.zst"), "a");
  EXPECT_EQ(without_packing("/a.gz"), "/a");
  EXPECT_EQ(without_packing("reviews.tsv"), "reviews.tsv");
  EXPECT_EQ(without_packing(".gz"), ".gz");
  EXPECT_EQ(without_packing("-"), "-");
}

// A data set is as many strings as it has files.
TEST(ReadStream, HoldsLittleMoreThanTheContent) {
  const ScratchFolder folder;
  for (const size_t size : {0, 1, 100, 5000, 70'000, 300'000}) {
    write_file(folder / "file", std::string(size, 'x'));
    const std::string text = read_stream(folder / "file");
    EXPECT_EQ(text.size(), size);
    EXPECT_LE(text.capacity(), 2 * size + 32);
  }
}

TEST(ReadStream, TheUsualLimitCanBeRaised) {
  const ScratchFolder folder;
  EXPECT_EQ(file_limit(), size_t{1} << 30);
  ::setenv("MEGA_FILE_LIMIT", "1000", 1);
  EXPECT_EQ(file_limit(), 1000u);
  write_file(folder / "file", std::string(1001, 'x'));
  const std::string whole = error_of([&] { read_stream(folder / "file"); });
  const std::string line = error_of([&] { lines_of(folder / "file"); });
  const std::string endless = error_of([] { read_stream("/dev/zero"); });
  ::setenv("MEGA_FILE_LIMIT", "2000", 1);
  EXPECT_NO_THROW(read_stream(folder / "file"));
  for (const char* wrong : {"much", "0", "-1", "10GB", "99999999999999999999999"}) {
    ::setenv("MEGA_FILE_LIMIT", wrong, 1);
    EXPECT_PRED2(contains, error_of([] { file_limit(); }), "MEGA_FILE_LIMIT: expected a number of bytes");
  }
  ::unsetenv("MEGA_FILE_LIMIT");
  EXPECT_PRED2(contains, whole, "file: has more than 1000 B, the limit");
  EXPECT_PRED2(contains, whole, "set MEGA_FILE_LIMIT");
  EXPECT_PRED2(contains, line, "file:1: the line is longer than 1000 B");
  EXPECT_PRED2(contains, endless, "/dev/zero: has more than 1000 B");
}

TEST(ReadStream, TooLittleMemoryIsAnErrorThatNamesTheFile) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer needs terabytes of addresses";
#endif
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = rlim_t{512} << 20;
  if (::setrlimit(RLIMIT_AS, &small) != 0) GTEST_SKIP() << "no limit can be set";
  const std::string whole = error_of([] { read_stream("/dev/zero"); });
  const std::string line = error_of([] { lines_of("/dev/zero"); });
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_PRED2(contains, whole, "/dev/zero: not enough memory");
  EXPECT_PRED2(contains, line, "/dev/zero:1: not enough memory");
}

}  // namespace
}  // namespace mega
