package sqlmigrate

import (
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// PostgresScripts are the texts of the files of each phase, up and down.
func PostgresScripts(p *Plan, format Format) (up, down []string) {
	for _, phase := range p.Phases {
		for _, t := range transactionsOf(&phase) {
			up = append(up, engines["postgres"].Script(statementsOf(t.upward()), engine.Format(format)))
			down = append(down, engines["postgres"].Script(statementsOf(t.downward()), engine.Format(format)))
		}
	}
	return up, down
}
