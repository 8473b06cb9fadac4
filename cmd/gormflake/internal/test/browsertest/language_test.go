package browsertest

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// openIn opens the page in a browser with these preferred languages, in descending order.
func openIn(t *testing.T, origin, languages string) page {
	t.Helper()
	p := start(t, origin)
	agent := value[string](p, `navigator.userAgent`)
	if _, err := chromedp.Call(p.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: languages}); err != nil {
		t.Fatal(err)
	}
	p.visit(origin + "/")
	return p
}

// englishTexts returns the texts and labels of the page, including hidden texts, that
// contain an English word. Names, code and the reader's input do not count.
const englishTexts = `(() => {
	const known = /^(gormflake|Snowflake|IDs?|UTC|JavaScript|JSON|CSV|HTTP|API|Discord|Instagram|Leaf|TSID|Yitter|Sonyflake|Twitter|JS|UUID|ULID|KSUID|TypeID|PAY|CODE|Bearer|Unix|base\d*|Base|number|WHERE|id|ms|Shift|Page|Up|Down|Home|End|Esc|ASCII|layout|order|bits|epoch|tick|custom|now|js-safe|mastodon|twitter|discord|instagram|leaf|tsid|yitter|sonyflake)$/;
	const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
	const texts = [document.querySelector("meta[name=description]").content];
	while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("code, .code, .id, textarea, noscript, #language, [id=base32], [id=base58], [id=base62], [id=hex], [id=local], #workers-table td:last-child")) texts.push(walker.currentNode.data);
	for (const name of ["aria-label", "placeholder", "title", "aria-valuetext"]) {
		for (const element of document.querySelectorAll("[" + name + "]")) texts.push(element.getAttribute(name));
	}
	return texts.filter((text) => (text.replace(/"[^"]*"|0x[0-9a-f]+|[0-9T.:-]+Z\b|[A-Za-z]+\/[A-Za-z_\/]+/g, " ").match(/[A-Za-z]{2,}\d*(?:-[a-z]+)?/g) ?? []).some((word) => !known.test(word)));
})()`

// In Chinese, no state of the page shows an English sentence, and axe reports no violation.
func TestChinese(t *testing.T) {
	t.Parallel()
	for name, enter := range states(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openIn(t, serve(t), "zh-CN,zh,en")
			enter(p)
			p.wantChinese("zh-" + name)
		})
	}
}

// In Chinese, the texts about a service, its IDs and its workers are not in English either.
func TestChineseService(t *testing.T) {
	t.Parallel()
	p := openIn(t, startProgram(t, "--layout", "js-safe"), "zh-CN")
	p.do(chromedp.Click("#issue"))
	p.until(`document.getElementById("issued-ids").value !== ""`)
	p.want("#issued-label", "由服务签发：唯一的主键")
	p.want("#workers-summary", "1 使用中")
	p.wantChinese("zh-service")
}

// wantChinese checks that the page shows no English, and runs axe if it is installed. name is
// the name of axe's screenshots.
func (p page) wantChinese(name string) {
	p.t.Helper()
	for _, found := range value[[]string](p, englishTexts) {
		p.t.Errorf("in English: %q", found)
	}
	if os.Getenv("GORMFLAKE_TEST_AXE") == "" {
		return
	}
	value[any](p, axe(p.t)+"\n;true")
	for _, width := range []int64{375, 1280} {
		p.runAxe(name, width)
	}
}

// On the English page, the script englishTexts finds many texts. Otherwise TestChinese
// would pass in any case.
func TestEnglishIsFound(t *testing.T) {
	t.Parallel()
	p := openIn(t, serve(t), "en-GB")
	if found := value[[]string](p, englishTexts); len(found) < 100 {
		t.Errorf("found %q", found)
	}
}

// The first of the browser's languages is en-US@posix, which is not a valid name of a
// language in JavaScript. The page still writes its numbers, without an error.
func TestInvalidLocale(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := start(t, origin)
	p.beforeScripts(`Object.defineProperty(navigator, "languages", { value: ["en-US@posix", "de"] })`)
	p.visit(origin + "/#ids=2032119384791810048+2124189853926044565")
	p.wantContains("#timeline-summary", "2 IDs of 2 workers")
	p.want("#input-error", "")
}

// The page chooses the first of the browser's languages that it has, or English. The reader's
// choice overrides this, also in later visits, and keeps the text that was entered.
func TestLanguage(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	for languages, want := range map[string]string{"zh-TW,en": "zh-CN", "de,fr": "en", "de,zh,en": "zh-CN", "en-US,zh": "en", "zha,en": "en"} {
		p := openIn(t, origin, languages)
		if got := value[string](p, `document.documentElement.lang`); got != want {
			t.Errorf("%s: the page is in %q, want %q", languages, got, want)
		}
	}
	p := openIn(t, origin, "zh")
	p.want("h1", "雪花 ID 里有什么？")
	p.enter("#input", "175928847299117063 of Anna")
	p.enter("#layout", "discord")
	p.want("#sentence b", "2016 年 4 月 30 日（星期六）11:18:25.796 UTC")
	p.until(`location.hash.includes("discord")`)
	p.do(chromedp.Click("#language"))
	p.until(`document.documentElement?.lang === "en" && document.documentElement.dataset.ready === "true"`)
	if text := value[string](p, `document.getElementById("input").value`); text != "175928847299117063 of Anna" {
		t.Errorf("the text became %q", text)
	}
	if sentence := p.text("#sentence"); !strings.HasPrefix(sentence, "Made on Saturday, 30 April 2016") {
		t.Errorf("the ID is read as %q", sentence)
	}
	p.visit(origin + "/")
	p.want("h1", "What is in a Snowflake ID?")
	if text := value[string](p, `document.getElementById("input").value`); text != "" {
		t.Errorf("the text came again: %q", text)
	}
}
