package sqlmigrate

// engines are those of GORM's dialects.
var engines = map[string]engine{
	"mysql":    mysqlEngine{},
	"postgres": postgresEngine{},
	"sqlite":   sqliteEngine{},
}
