#pragma once

namespace cg2d::comm {

/// Base of the classes that callers implement, or use by reference to it: a virtual destructor, and no copies,
/// which would cut off what a derived class adds.
class Interface {
 public:
  Interface() = default;
  virtual ~Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
};

}  // namespace cg2d::comm
