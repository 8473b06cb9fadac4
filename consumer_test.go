package gormflake_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// An application that uses only the core must not have the versions of its own
// grpc, Redis, etcd or ZooKeeper clients moved by it: their stores are modules
// of their own.
func TestNoServerClientInTheModule(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\S*(redis|etcd|zookeeper|grpc|/zk)\S*`).FindAllString(string(out), -1); found != nil {
		t.Errorf("the module requires %q", found)
	}
	if !regexp.MustCompile(`(?m)^gorm\.io/gorm `).Match(out) {
		t.Errorf("gorm is not listed: %s", out)
	}
}
