#pragma once
// What a program without us would do with MPI alone: rows to columns by subarray types, or packed by hand.

#include <mpi.h>

#include <cstring>
#include <vector>

#include "rows_to_columns.hpp"

namespace bench {

class MpiPeers {
 public:
  explicit MpiPeers(const Problem& problem)
      : p_(problem), source_(p_.source()), target_(p_.target()), packed_(source_.size(), 0.0), requests_(2 * ranks(), MPI_REQUEST_NULL) {
    const int rows = static_cast<int>(p_.my_rows), columns = static_cast<int>(p_.my_columns);
    for (int peer = 0; peer < static_cast<int>(p_.ranks); ++peer) {
      const int have[] = {rows, static_cast<int>(p_.columns)}, want[] = {static_cast<int>(p_.rows), columns}, block[] = {rows, columns};
      const int from[] = {0, peer * columns}, to[] = {peer * rows, 0};
      MPI_Type_create_subarray(2, have, block, from, MPI_ORDER_C, MPI_DOUBLE, &send_types_.emplace_back());
      MPI_Type_create_subarray(2, want, block, to, MPI_ORDER_C, MPI_DOUBLE, &receive_types_.emplace_back());
      MPI_Type_commit(&send_types_.back());
      MPI_Type_commit(&receive_types_.back());
      ones_.push_back(1);
      zeros_.push_back(0);
      counts_.push_back(rows * columns);
      offsets_.push_back(peer * rows * columns);
    }
  }
  ~MpiPeers() {
    for (auto& type : send_types_) MPI_Type_free(&type);
    for (auto& type : receive_types_) MPI_Type_free(&type);
  }
  MpiPeers(const MpiPeers&) = delete;
  MpiPeers& operator=(const MpiPeers&) = delete;

  void alltoallw() {
    MPI_Alltoallw(source_.data(), ones_.data(), zeros_.data(), send_types_.data(), target_.data(), ones_.data(), zeros_.data(),
                  receive_types_.data(), MPI_COMM_WORLD);
  }

  /// Packed by us, received in place: a peer's block is contiguous rows of the columns wanted.
  void pack_isend() {
    const int me = static_cast<int>(p_.rank), n = static_cast<int>(p_.ranks);
    for (int k = 1; k < n; ++k) {
      const int peer = (me + n - k) % n;
      MPI_Irecv(target_.data() + offset(peer), count(peer), MPI_DOUBLE, peer, 7, MPI_COMM_WORLD,
                &requests_[static_cast<std::size_t>(peer)]);
    }
    for (int k = 1; k < n; ++k) {
      const int peer = (me + k) % n;
      pack(peer, packed_.data() + offset(peer));
      MPI_Isend(packed_.data() + offset(peer), count(peer), MPI_DOUBLE, peer, 7, MPI_COMM_WORLD,
                &requests_[ranks() + static_cast<std::size_t>(peer)]);
    }
    pack(me, target_.data() + offset(me));
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void pack_alltoallv() {
    for (int peer = 0; peer < static_cast<int>(p_.ranks); ++peer) pack(peer, packed_.data() + offset(peer));
    raw_alltoallv();
  }

  /// No layout changes here: what is packed is sent. The most an exchange over a network can be.
  void raw_alltoallv() {
    MPI_Alltoallv(packed_.data(), counts_.data(), offsets_.data(), MPI_DOUBLE, target_.data(), counts_.data(), offsets_.data(), MPI_DOUBLE,
                  MPI_COMM_WORLD);
  }

  const double* result() const { return target_.data(); }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(p_.ranks); }
  int count(int peer) const { return counts_[static_cast<std::size_t>(peer)]; }
  std::ptrdiff_t offset(int peer) const { return offsets_[static_cast<std::size_t>(peer)]; }

  void pack(int peer, double* out) const {
    const double* in = source_.data() + peer * p_.my_columns;
    for (std::int64_t row = 0; row < p_.my_rows; ++row, in += p_.columns, out += p_.my_columns)
      std::memcpy(out, in, static_cast<std::size_t>(p_.my_columns) * sizeof(double));
  }

  const Problem p_;
  std::vector<double> source_, target_, packed_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Datatype> send_types_{}, receive_types_{};
  std::vector<int> ones_{}, zeros_{}, counts_{}, offsets_{};
};

}  // namespace bench
