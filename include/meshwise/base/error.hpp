#pragma once
// The exception tree. A message says the operation, the rule, the values (argument names, dtype[shape],
// specs, ORDERED device ids) and the cure. Errors decided by metadata are the same on every rank.

#include <stdexcept>
#include <string>

namespace meshwise {

/// Local. Base of everything meshwise throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Local. A mesh, spec or sharding that cannot be, or that an array does not fit.
class PlacementError : public Error {
 public:
  using Error::Error;
};

/// Local. A spec names an axis its mesh does not have.
class UnknownAxisError : public PlacementError {
 public:
  using PlacementError::PlacementError;
};

/// Local. A mesh axis is used twice in one spec, or named twice in one mesh.
class DuplicateAxisError : public PlacementError {
 public:
  using PlacementError::PlacementError;
};

/// Local. A length does not divide where an operation needs it to.
class IndivisibleError : public PlacementError {
 public:
  using PlacementError::PlacementError;
};

/// Local. Shapes that do not fit one another or the operation.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// Local. A dtype an operation does not have, or a wrong C++ type at an edge (`view<T>`, `item<T>`).
class DtypeError : public Error {
 public:
  using Error::Error;
};

/// Local. An index, slice or axis out of range.
class IndexError : public Error {
 public:
  using Error::Error;
};

/// Local. Operands committed to different device lists.
class CommitmentError : public Error {
 public:
  using Error::Error;
};

/// Local. Explicit axes: the operands' specs do not combine, or mesh types differ.
class ShardingTypeError : public Error {
 public:
  using Error::Error;
};

/// Local. A local read of a value that this rank does not hold whole.
class NotAddressableError : public Error {
 public:
  using Error::Error;
};

/// Local. Use of an array that was donated or freed.
class DonatedError : public Error {
 public:
  using Error::Error;
};

/// Local. A request that exceeds the memory there is.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// Local. Another rank failed: which, and its words.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

/// Local. Ranks made different calls: each rank's call.
class MismatchError : public Error {
 public:
  using Error::Error;
};

/// Local. MPI or the environment failed, or a peer did not arrive.
class CommunicationError : public Error {
 public:
  using Error::Error;
};

/// Local. A file that cannot be read or written as asked.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

}  // namespace meshwise
