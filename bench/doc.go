// Package bench measures gormflake side by side with its peers.
//
//	go test -bench . -count 6 | benchstat -table .name -col /peer -
//
// takes six minutes and wants a quiet machine. "make bench" takes each run from a
// build of its own, for which the linker has shuffled the functions: where a loop
// happens to lie costs or saves any peer up to 5 %, alike in all runs of one build, and
// would look like a result. (Mytkowicz and others, "Producing Wrong Data Without Doing
// Anything Obviously Wrong!", 2009.)
//
// With the variables of package testdb, orders are also written to servers. Ratios
// carry over to other machines, times do not.
package bench
