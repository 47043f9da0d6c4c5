package jetstream

import (
	"context"
	"encoding/json"
	"slices"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// The servers choose the leader of each new stream and of its consumer at random, and most
// of the work is the leaders'. So the process that creates streams asks the servers for
// other leaders where one server leads more than its part. That is an attempt: streams
// work with any leader, and elections change them later.

// A led is a stream or a consumer, with its leader and all servers that store it.
type led struct {
	stepDown string // subject of the request for another leader
	leader   string
	servers  []string
}

// spread gives each server its part of the leaders of the lanes.
func (k *keyedCore) spread(ctx context.Context, lanes []*lane) {
	if k.config.replicas == 1 {
		return // each has one server
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var streams, consumers []led
	for _, l := range lanes {
		s := &l.core.stream
		s.mu.Lock()
		consumer := s.consumer
		s.mu.Unlock()
		streams = append(streams, ledBy("STREAM.LEADER.STEPDOWN."+l.core.config.name, s.handle.CachedInfo().Cluster))
		consumers = append(consumers, ledBy("CONSUMER.LEADER.STEPDOWN."+l.core.config.name+"."+consumerName, consumer.CachedInfo().Cluster))
	}
	for _, all := range [][]led{streams, consumers} {
		moves := evenly(all)
		_ = parallel(len(moves), func(i int) error {
			body, err := json.Marshal(map[string]any{"placement": map[string]string{"preferred": moves[i].leader}})
			if err == nil {
				_, err = k.conn.nc.RequestWithContext(ctx, natsjs.DefaultAPIPrefix+moves[i].stepDown, body)
			}
			if err != nil {
				k.log.Debug("jetstream: asking for another leader", "error", err)
			}
			return nil
		})
	}
}

func ledBy(stepDown string, cluster *natsjs.ClusterInfo) led {
	l := led{stepDown: stepDown}
	if cluster == nil || cluster.Leader == "" {
		return l
	}
	l.leader, l.servers = cluster.Leader, []string{cluster.Leader}
	for _, peer := range cluster.Replicas {
		if !peer.Offline {
			l.servers = append(l.servers, peer.Name)
		}
	}
	return l
}

// evenly returns those that should have another leader, with that leader, so that a server
// leads at most one more than each other one that could lead instead.
func evenly(all []led) (moves []led) {
	count := map[string]int{}
	for _, l := range all {
		count[l.leader]++
	}
	for _, l := range all {
		least := l.leader
		for _, name := range slices.Sorted(slices.Values(l.servers)) {
			if count[name] < count[least]-1 {
				least = name
			}
		}
		if least != l.leader {
			count[l.leader]--
			count[least]++
			l.leader = least
			moves = append(moves, l)
		}
	}
	return moves
}
