package leasestore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/lease/etcdlease"
)

func openEtcd(ctx context.Context, a address, namespace string, _ *slog.Logger) (*Store, error) {
	config, err := etcdConfig(a)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, err
	}
	if err := etcdAnswers(ctx, client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Store{etcdlease.New(client, etcdlease.WithNamespace(namespace)), client.Close}, nil
}

func etcdConfig(a address) (clientv3.Config, error) {
	config := clientv3.Config{
		Endpoints: a.withPort("2379"), DialTimeout: patience, Logger: zap.NewNop(), Username: a.User.Username(),
	}
	config.Password, _ = a.User.Password()
	if a.Scheme == "etcd" {
		return config, a.only()
	}
	if err := a.only("ca", "cert", "key"); err != nil {
		return config, err
	}
	var err error
	config.TLS, err = tlsConfig(a)
	return config, err
}

func tlsConfig(a address) (*tls.Config, error) {
	query := a.Query()
	files := transport.TLSInfo{TrustedCAFile: query.Get("ca"), CertFile: query.Get("cert"), KeyFile: query.Get("key")}
	if (files.CertFile == "") != (files.KeyFile == "") {
		return nil, errors.New("want cert and key together")
	}
	return files.ClientConfig()
}

// etcdAnswers asks for a key that nobody has: reading it needs the cluster's
// agreement, as reading the records does.
func etcdAnswers(ctx context.Context, client *clientv3.Client) error {
	if _, err := client.Get(ctx, "gormflake/"); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("ask the cluster: %w", err)
	}
	return nil
}
