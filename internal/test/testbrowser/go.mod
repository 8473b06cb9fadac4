module github.com/gormflake/gormflake/internal/test/testbrowser

go 1.25.0

require (
	github.com/chromedp/chromedp v0.23.0
	github.com/gormflake/gormflake v0.0.0
)

require (
	github.com/chromedp/cdproto v0.159.2 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
)

replace github.com/gormflake/gormflake => ../../..
