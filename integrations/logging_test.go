package integrations_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// TestSlog checks that both handlers of slog write IDs as texts, so that a log in JSON keeps
// the digits in JavaScript.
func TestSlog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	noTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	slog.New(slog.NewJSONHandler(&b, noTime)).Info("created", "order", sample)
	slog.New(slog.NewTextHandler(&b, noTime)).Info("created", "order", sample)
	wantText(t, b.String(), `{"level":"INFO","msg":"created","order":"7529595880471527425"}
level=INFO msg=created order=7529595880471527425
`)
}

// TestZap checks that zap writes IDs as texts, so that a log keeps the digits in JavaScript.
func TestZap(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
	log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&b), zap.InfoLevel))
	log.Info("created", zap.Stringer("order", sample))
	log.Info("created", zap.Any("order", sample))
	wantText(t, b.String(), `{"msg":"created","order":"7529595880471527425"}
{"msg":"created","order":"7529595880471527425"}
`)
}

// TestZerolog checks that zerolog writes IDs as texts, so that a log keeps the digits in
// JavaScript.
func TestZerolog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := zerolog.New(&b)
	log.Info().Stringer("order", sample).Msg("created")
	log.Info().Any("order", sample).Msg("created")
	wantText(t, b.String(), `{"level":"info","order":"7529595880471527425","message":"created"}
{"level":"info","order":"7529595880471527425","message":"created"}
`)
}
