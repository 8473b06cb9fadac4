package gormflake_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// TestNoServerClientInTheModule checks that the module requires no client of Redis, etcd
// or ZooKeeper and no grpc, because it must not change the versions that an application
// uses. The stores for these servers are therefore separate modules.
func TestNoServerClientInTheModule(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\S*(redis|etcd|zookeeper|grpc|/zk)\S*`).FindAllString(string(out), -1); found != nil {
		t.Errorf("the module requires %q", found)
	}
	// Without gorm, the output is not the list of modules.
	if !regexp.MustCompile(`(?m)^gorm\.io/gorm `).Match(out) {
		t.Errorf("gorm is not listed: %s", out)
	}
}
