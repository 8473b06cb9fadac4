package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// A keyPair is a certificate and its key, those of --tls-cert and --tls-key, as they were
// last read.
type keyPair struct {
	cert, key string // the files
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed time.Time // the later of both files' times, when they were read
}

func (k *keyPair) register(set *pflag.FlagSet) {
	set.StringVar(&k.cert, "tls-cert", "", "file with the certificate, and those between it and the root, for HTTPS (default none: HTTP)")
	set.StringVar(&k.key, "tls-key", "", "file with the certificate's key")
}

// config is nil without the flags. The files are read again when they have
// changed, as the files of short-lived certificates do.
func (k *keyPair) config(log *slog.Logger) (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil
	case k.cert == "" || k.key == "":
		return nil, terminal.Usagef("--tls-cert and --tls-key: want both, or none")
	}
	k.log = log
	return &tls.Config{GetCertificate: k.certificate}, k.load()
}

func (k *keyPair) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if changed, err := k.lastChange(); err != nil || !changed.Equal(k.changed) {
		if err := k.load(); err != nil {
			k.log.Error("the new certificate cannot be used, the old one is", "error", err)
		}
	}
	return k.loaded, nil
}

func (k *keyPair) load() error {
	changed, err := k.lastChange()
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	k.changed = changed // also of files that are wrong, which are read once
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", k.cert, k.key, err)
	}
	k.loaded = &pair
	return nil
}

func (k *keyPair) lastChange() (last time.Time, err error) {
	for _, name := range []string{k.cert, k.key} {
		file, err := os.Stat(name)
		if err != nil {
			return time.Time{}, err
		}
		if changed := file.ModTime(); changed.After(last) {
			last = changed
		}
	}
	return last, nil
}
