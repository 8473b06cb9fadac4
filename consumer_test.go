package gormflake_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// The core must not change which versions of grpc or of a Redis, etcd or ZooKeeper
// client an application uses, so each of their stores is a separate module.
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
