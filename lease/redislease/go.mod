module github.com/gormflake/gormflake/lease/redislease

go 1.25.0

require (
	github.com/gormflake/gormflake v0.0.0
	github.com/redis/go-redis/v9 v9.22.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	gorm.io/gorm v1.31.2 // indirect
)

replace github.com/gormflake/gormflake => ../..
