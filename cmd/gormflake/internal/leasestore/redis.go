package leasestore

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease/redislease"
)

func openRedis(ctx context.Context, a address, namespace string, log *slog.Logger) (*Store, error) {
	if len(a.hosts) > 1 {
		return nil, errors.New("several hosts: want one, and the others as addr=host:port, with master_name for sentinels")
	}
	client, err := redisClient(a)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Store{redislease.New(client, redislease.WithNamespace(namespace), redislease.WithLogger(log)), client.Close}, nil
}

func redisClient(a address) (redis.UniversalClient, error) {
	switch query := a.Query(); {
	case query.Has("master_name"):
		return parsed(redis.NewFailoverClient, redis.ParseFailoverURL, a)
	case query.Has("addr"):
		return parsed(redis.NewClusterClient, redis.ParseClusterURL, a)
	}
	return parsed(redis.NewClient, redis.ParseURL, a)
}

func parsed[O any, C redis.UniversalClient](open func(O) C, parse func(string) (O, error), a address) (redis.UniversalClient, error) {
	options, err := parse(a.String())
	if err != nil {
		return nil, err
	}
	return open(options), nil
}
