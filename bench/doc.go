// Package bench measures gormflake side by side with its peers.
//
//	go test -bench . -count 6 | benchstat -table .name -col /peer -
//
// This takes six minutes and needs a quiet machine. "make bench" uses a separate build
// for each run, in which the linker has shuffled the functions. The position of a loop
// changes the time of any peer by up to 5 %, by the same amount in all runs of a build,
// and would look like a result. (Mytkowicz and others, "Producing Wrong Data Without
// Doing Anything Obviously Wrong!", 2009.)
//
// With the variables of package testdb, the benchmarks also write orders to servers.
// Ratios are valid on other machines, but times are not.
package bench
