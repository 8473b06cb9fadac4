package leasestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/lease/etcdlease"
)

func openEtcd(ctx context.Context, a address, namespace string, _ *slog.Logger) (*Store, error) {
	config, err := etcdConfig(a)
	if err != nil {
		return nil, err
	}
	config.Logger = zap.NewNop() // or it would write to standard error
	client, err := clientv3.New(*config)
	if err != nil {
		return nil, err
	}
	if err := etcdAnswers(ctx, client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Store{etcdlease.New(client, etcdlease.WithNamespace(namespace)), client.Close}, nil
}

func etcdConfig(a address) (*clientv3.Config, error) {
	var files []string
	spec := clientv3.ConfigSpec{Endpoints: a.withPort("2379"), DialTimeout: patience, Auth: &clientv3.AuthConfig{Username: a.User.Username()}}
	spec.Auth.Password, _ = a.User.Password()
	if query := a.Query(); a.Scheme == "etcds" {
		files = []string{"ca", "cert", "key"}
		spec.Secure = &clientv3.SecureConfig{Cacert: query.Get("ca"), Cert: query.Get("cert"), Key: query.Get("key")}
		if (spec.Secure.Cert == "") != (spec.Secure.Key == "") {
			return nil, errors.New("want cert and key together")
		}
	}
	if err := a.only(files...); err != nil {
		return nil, err
	}
	return clientv3.NewClientConfig(&spec, zap.NewNop())
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
