package doctor

import (
	"fmt"
	"os"
	"strings"
)

// writeTextfile writes what node_exporter reads. It may read at any moment, so the
// file takes its name when it is complete.
func (r *report) writeTextfile(name, database string) error {
	const metric = "gormflake_key_used_ratio"
	var out strings.Builder
	fmt.Fprintf(&out, "# HELP %[1]s Used part of the numbers of a key or a sequence.\n# TYPE %[1]s gauge\n", metric)
	for _, u := range r.Usage {
		fmt.Fprintf(&out, "%s{database=%q,name=%q} %v\n", metric, database, u.Name, u.Used)
	}
	err := os.WriteFile(name+".tmp", []byte(out.String()), 0o644) // node_exporter is another user
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		return fmt.Errorf("--textfile: %w", err)
	}
	return nil
}
