package storetest

import (
	"flag"
	"os"
)

// RaiseParallel lets more parallel tests run at a time than there are processors,
// because tests of leases mostly wait. It keeps the default if -parallel is set, or if
// the tests start servers, which are load enough.
func RaiseParallel() {
	flag.Parse()
	set := os.Getenv("GORMFLAKE_TEST_SERVERS") != ""
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", "6")
	}
}
