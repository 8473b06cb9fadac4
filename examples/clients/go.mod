module github.com/gormflake/gormflake/examples/clients

go 1.25.0

require github.com/chromedp/chromedp v0.23.0

require (
	github.com/chromedp/cdproto v0.159.2
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/gormflake/gormflake v0.0.0
	github.com/gormflake/gormflake/internal/test/testbrowser v0.0.0
)

replace github.com/gormflake/gormflake => ../..

replace github.com/gormflake/gormflake/internal/test/testbrowser => ../../internal/test/testbrowser
