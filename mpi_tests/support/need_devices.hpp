#pragma once
// Cases that need more devices than there are are skipped.

#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>

#define NEED_DEVICES(n) \
  if (meshwise::devices().size() < (n)) GTEST_SKIP() << "needs " << (n) << " devices"
