// Compiled once so that the precompiled header has a home.
