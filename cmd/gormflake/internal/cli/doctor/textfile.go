package doctor

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// writeTextfile writes what node_exporter reads.
func (r *report) writeTextfile(name, database string) error {
	used := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gormflake_key_used_ratio", Help: "Used part of the numbers of a key or a sequence.",
	}, []string{"database", "name"})
	for _, u := range r.Usage {
		used.WithLabelValues(strings.ToValidUTF8(database, "?"), strings.ToValidUTF8(u.Name, "?")).Set(u.Used)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(used)
	if err := prometheus.WriteToTextfile(name, registry); err != nil {
		return fmt.Errorf("--textfile: %w", err)
	}
	return nil
}
