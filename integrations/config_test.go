package integrations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/go-viper/mapstructure/v2"
	"github.com/jinzhu/copier"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gormflake/gormflake/types"
)

// TestPflag checks that pflag reads an ID from a flag, and that an empty flag is an error.
func TestPflag(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("orders", pflag.ContinueOnError)
	var after types.ID
	flags.TextVar(&after, "after", types.ID(0), "the last order seen")
	if err := flags.Parse([]string{"--after=" + text}); err != nil || after != sample {
		t.Errorf("got %v, %v", after, err)
	}
	wantError(t, flags.Parse([]string{"--after="}), "--after", "empty: want decimal digits")
}

// TestEnv checks that env reads IDs from environment variables. An empty variable leaves 0,
// unless its tag has notEmpty.
func TestEnv(t *testing.T) {
	t.Parallel()
	type config struct {
		After  types.ID  `env:"AFTER"`
		Before *types.ID `env:"BEFORE"`
	}
	var c config
	if err := env.ParseWithOptions(&c, env.Options{Environment: map[string]string{"AFTER": text}}); err != nil || c.After != sample || c.Before != nil {
		t.Errorf("got %v, %v", c, err)
	}
	err := env.ParseWithOptions(&c, env.Options{Environment: map[string]string{"AFTER": "x"}})
	wantError(t, err, `"After"`, `types: ID.UnmarshalText("x")`)
	empty := env.Options{Environment: map[string]string{"AFTER": ""}}
	c.After = 0
	if err := env.ParseWithOptions(&c, empty); err != nil || c.After != 0 {
		t.Errorf("an empty variable is read as %v, %v; the page says that it leaves 0", c.After, err)
	}
	var strict struct {
		After types.ID `env:"AFTER,notEmpty"`
	}
	wantError(t, env.ParseWithOptions(&strict, empty), `"AFTER"`)
}

// TestViper checks that viper reads IDs from texts by mapstructure's
// TextUnmarshallerHookFunc, beside the other hooks of an application. A number in JSON loses
// its digits, because viper reads it as a float64.
func TestViper(t *testing.T) {
	t.Parallel()
	type config struct {
		ID      types.ID
		Only    []types.ID
		Timeout time.Duration
		Hosts   []string
	}
	hooks := viper.DecodeHook(mapstructure.ComposeDecodeHookFunc(
		mapstructure.TextUnmarshallerHookFunc(),
		mapstructure.StringToTimeDurationHookFunc(),
		mapstructure.StringToWeakSliceHookFunc(","),
	))
	parse := func(in string) (c config, err error) {
		t.Helper()
		v := viper.New()
		v.SetConfigType("json")
		if err := v.ReadConfig(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		return c, v.Unmarshal(&c, hooks)
	}
	got, err := parse(`{"id":"7529595880471527425","only":"1,7529595880471527425","timeout":"5s","hosts":"a,b"}`)
	if err != nil || got.ID != sample || !slices.Equal(got.Only, []types.ID{1, sample}) || got.Timeout != 5*time.Second || len(got.Hosts) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := parse(`{"id":7529595880471527425}`); err != nil || got.ID != 7529595880471527424 {
		t.Errorf("the number is read as %d, %v; the page says that its digits are lost", got.ID, err)
	}
	_, err = parse(`{"id":""}`)
	wantError(t, err, "empty: want decimal digits")
}

// TestMapstructure checks that mapstructure with its TextUnmarshallerHookFunc reads IDs from
// texts, IDs and integers, and rejects an empty text and hex. Without the hook, every text is
// an error. The hook handles only texts, so mapstructure itself converts a float64. It
// reports no error for a fraction, and none for a number of JSON that has lost digits.
func TestMapstructure(t *testing.T) {
	t.Parallel()
	var got struct{ ID types.ID }
	decoder := must(mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		DecodeHook: mapstructure.TextUnmarshallerHookFunc(),
		Result:     &got,
	}))(t)
	for _, in := range []any{text, sample, sample.Int64()} {
		got.ID = 0
		if err := decoder.Decode(map[string]any{"id": in}); err != nil || got.ID != sample {
			t.Errorf("%T is read as %v, %v", in, got.ID, err)
		}
	}
	wantError(t, decoder.Decode(map[string]any{"id": ""}), "'ID'", "empty: want decimal digits")
	wantError(t, decoder.Decode(map[string]any{"id": "0x10"}), "'ID'", "want decimal digits")
	wantError(t, mapstructure.Decode(map[string]any{"id": text}, &got), "unconvertible type 'string'") // without the hook
	for in, want := range map[float64]types.ID{5.5: 5, 7529595880471527425: 7529595880471527424} {
		if err := decoder.Decode(map[string]any{"id": in}); err != nil || got.ID != want {
			t.Errorf("%v is read as %d, %v; the page says %d", in, got.ID, err, want)
		}
	}
}

// TestCopier checks that IDs become texts and back by converters. Without them, copier
// converts an ID to a string of one character, as Go converts an integer.
func TestCopier(t *testing.T) {
	t.Parallel()
	type view struct{ ID string }
	var got view
	if err := copier.Copy(&got, order{ID: sample}); err != nil || got.ID == text {
		t.Errorf("got %q, %v; the page warns that this is one wrong character", got.ID, err)
	}
	toText := copier.TypeConverter{SrcType: types.ID(0), DstType: "", Fn: func(src any) (any, error) { return src.(types.ID).String(), nil }}
	toID := copier.TypeConverter{SrcType: "", DstType: types.ID(0), Fn: func(src any) (any, error) { return types.ParseID(src.(string)) }}
	converters := copier.Option{Converters: []copier.TypeConverter{toText, toID}}
	if err := copier.CopyWithOption(&got, order{ID: sample}, converters); err != nil {
		t.Fatal(err)
	}
	wantText(t, got.ID, text)
	var back order
	if err := copier.CopyWithOption(&back, got, converters); err != nil || back.ID != sample {
		t.Errorf("got %v, %v", back.ID, err)
	}
	wantError(t, copier.CopyWithOption(&back, view{ID: "x"}, converters), `types: ParseID("x")`)

	type linked struct{ Parent *types.ID }
	var pointer linked
	if err := copier.Copy(&pointer, linked{&back.ID}); err != nil || *pointer.Parent != sample {
		t.Errorf("got %v, %v, want what the page says of types.ID on both sides", pointer.Parent, err)
	}
	var wrong struct{ Parent string }
	if err := copier.CopyWithOption(&wrong, pointer, converters); err != nil || wrong.Parent == text {
		t.Errorf("got %q, %v; the page warns that pointers need converters of their own", wrong.Parent, err)
	}
}

// TestProtobuf checks a message whose field is int64, which protojson writes as a string.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	message := wrapperspb.Int64(sample.Int64())
	var back wrapperspb.Int64Value
	if err := proto.Unmarshal(must(proto.Marshal(message))(t), &back); err != nil || types.ID(back.GetValue()) != sample {
		t.Errorf("got %v, %v", back.GetValue(), err)
	}
	wantText(t, string(must(protojson.Marshal(message))(t)), `"7529595880471527425"`)
}
