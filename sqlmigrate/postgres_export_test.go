package sqlmigrate

// PostgresScripts are the texts of the files of each phase, up and down.
func PostgresScripts(p *Plan, format Format) (up, down []string) {
	for _, phase := range p.Phases {
		up = append(up, postgresEngine{}.script(statementsOf(phase.up()), format))
		down = append(down, postgresEngine{}.script(statementsOf(phase.down()), format))
	}
	return up, down
}
