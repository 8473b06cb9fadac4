package integrations_test

import (
	"strings"
	"testing"

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
}

func TestViper(t *testing.T) {
	t.Parallel()
	read := func(in string) (o struct{ ID types.ID }) {
		t.Helper()
		v := viper.New()
		v.SetConfigType("json")
		if err := v.ReadConfig(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		if err := v.Unmarshal(&o, viper.DecodeHook(mapstructure.TextUnmarshallerHookFunc())); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if got := read(`{"id":"7529595880471527425"}`); got.ID != sample {
		t.Errorf("the string is read as %d", got.ID)
	}
	if got := read(`{"id":7529595880471527425}`); got.ID != 7529595880471527424 {
		t.Errorf("the number is read as %d; the page says that its digits are lost", got.ID)
	}
}

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
}

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
}

// The field of a message is int64; protojson writes it as a string.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	message := wrapperspb.Int64(sample.Int64())
	var back wrapperspb.Int64Value
	if err := proto.Unmarshal(must(proto.Marshal(message))(t), &back); err != nil || types.ID(back.GetValue()) != sample {
		t.Errorf("got %v, %v", back.GetValue(), err)
	}
	wantText(t, string(must(protojson.Marshal(message))(t)), `"7529595880471527425"`)
}
