#pragma once
// File system calls that fail on order: failing_calls.cpp comes before libc, linked or by LD_PRELOAD. What it does is written
//
//   CALL:N:WHAT[:RANK]      or, to have them only counted, nothing
//
// CALL: open, write, read, fallocate, fsync, rename, mkdir, truncate, any. N: the N-th (from 0) such call under the folder; `*`: each.
// WHAT: ENOSPC, EIO, EDQUOT, EACCES, EINTR; `short`: half of the bytes; `ignore`: nothing is done, and it is said to be done; `kill`: the process
// dies before the call. RANK: on that rank alone. From the environment: MESHWISE_TEST_FOLDER (an absolute path) and MESHWISE_TEST_FAIL.

extern "C" {
/// Local. The folder whose calls are looked at, and what shall fail there; counting begins again.
void meshwise_test_fail(const char* folder, const char* what);
/// Local. How many calls of that kind there were since.
long meshwise_test_calls(const char* call);
/// Local. The call that failed and its path; empty: none has.
const char* meshwise_test_failed();
}
