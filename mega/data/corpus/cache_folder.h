// Where what takes long to make is kept, to be used again.
#pragma once

#include <filesystem>
#include <string>

namespace mega::data {

// $MEGA_CACHE/NAME, or else $XDG_CACHE_HOME/mega/NAME, or else ~/.cache/mega/NAME; made if need be. An Error
// that says what to do if it cannot be. Everything in it can be deleted at any time.
std::filesystem::path cache_folder(const std::string& name);

// An Error that says what to do where nothing can be written to the folder.
void require_writable(const std::filesystem::path& folder);

}  // namespace mega::data
