package postgres

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// rejectNewReferences ends the phase with an error, and so takes it back, where a column
// that the plan does not know refers to a widened key: a foreign key that was
// added since, or that exists in this database only. It would take keys of the
// old kind, and fail at the first new one.
func (p *inspection) rejectNewReferences(phase *engine.Phase) {
	var rejections []string
	for _, t := range p.tables {
		for _, c := range t.narrow() {
			if !c.key {
				continue
			}
			rejections = append(rejections, rejectIf(fmt.Sprintf(`SELECT FROM pg_catalog.pg_constraint c, unnest(c.conkey, c.confkey) AS k (a, b)
    JOIN pg_catalog.pg_attribute r ON r.attnum = k.a
    JOIN pg_catalog.pg_attribute t ON t.attnum = k.b
    WHERE c.contype = 'f' AND r.attrelid = c.conrelid AND t.attrelid = c.confrelid
    AND c.confrelid = %s::regclass AND t.attname = %s AND r.atttypid IN ('int2'::regtype, 'int4'::regtype)`,
				literal(t.target()), literal(c.name)),
				fmt.Sprintf("sqlmigrate: a foreign key that the plan does not know refers to column %s of table %s with fewer than 64 bits: inspect again",
					c.name, p.display(t.schema, t.name))))
		}
	}
	if len(rejections) == 0 || len(phase.Steps) == 0 {
		return
	}
	last := &phase.Steps[len(phase.Steps)-1]
	last.Up = append(last.Up, statementsUnless("", doBlock(strings.Join(rejections, "")))...)
}
