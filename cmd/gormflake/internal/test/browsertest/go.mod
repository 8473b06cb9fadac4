module github.com/gormflake/gormflake/cmd/gormflake/internal/test/browsertest

go 1.25.0

replace (
	github.com/gormflake/gormflake => ../../../../..
	github.com/gormflake/gormflake/cmd/gormflake => ../../..
	github.com/gormflake/gormflake/internal/test/testbrowser => ../../../../../internal/test/testbrowser
	github.com/gormflake/gormflake/lease/etcdlease => ../../../../../lease/etcdlease
	github.com/gormflake/gormflake/lease/redislease => ../../../../../lease/redislease
	github.com/gormflake/gormflake/lease/zklease => ../../../../../lease/zklease
	github.com/gormflake/gormflake/promcollector => ../../../../../promcollector
)

require (
	github.com/chromedp/cdproto v0.159.2
	github.com/chromedp/chromedp v0.23.0
	github.com/gormflake/gormflake v0.0.0
	github.com/gormflake/gormflake/cmd/gormflake v0.0.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/gormflake/gormflake/internal/test/testbrowser v0.0.0
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	golang.org/x/text v0.41.0 // indirect
	gorm.io/gorm v1.31.2 // indirect
)
