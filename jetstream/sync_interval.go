package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A value that a server has confirmed survives the death of its process: the operating
// system has it. Whether it survives a power failure depends on how often the server syncs
// its files: jetstream.sync_interval in its configuration, every two minutes by default,
// or "always". A client cannot ask for that in its own account; the servers report it only
// to users of the system account, and on the monitoring port. So the check needs
// Options.System; without it, the warning is that the interval is unknown.

// A varz is the part of a server's report that matters here.
type varz struct {
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
	Data struct {
		JetStream struct {
			Config struct {
				SyncInterval time.Duration `json:"sync_interval"`
				SyncAlways   bool          `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	} `json:"data"`
}

const (
	varzSubject = "$SYS.REQ.SERVER.PING.VARZ"
	// varzTimeout is the longest that checkSync waits for the servers' reports.
	varzTimeout = 2 * time.Second
)

// checkSync warns unless each of the servers, which store the channel, syncs every write.
func (s *session) checkSync(ctx context.Context, replicas []string) {
	if s.conn.server != nil { // startServer sets SyncAlways
		return
	}
	if s.config.system == "" {
		s.warn(warnSync, "unknown whether values survive a power failure: only a user of the system account can ask the servers for their sync_interval (set Options.System)")
		return
	}
	found, err := s.servers(ctx, replicas)
	if err != nil {
		s.warn(warnSync, fmt.Sprintf("unknown whether values survive a power failure: asking the servers for their sync_interval failed: %v", err))
		return
	}
	s.warn(warnSync, laxServers(replicas, found))
}

// replicas returns the names of the servers that store the stream; none without a cluster.
func (s *stream) replicas() (names []string) {
	cluster := s.handle.CachedInfo().Cluster
	if cluster == nil || cluster.Name == "" {
		return nil
	}
	if cluster.Leader != "" {
		names = append(names, cluster.Leader)
	}
	for _, replica := range cluster.Replicas {
		names = append(names, replica.Name)
	}
	return names
}

// servers asks the servers for their reports, until those in replicas have answered.
func (s *session) servers(ctx context.Context, replicas []string) (map[string]varz, error) {
	nc, err := dial(s.config.system, s.config.systemNATS)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	answers, err := nc.SubscribeSync(nc.NewRespInbox())
	if err != nil {
		return nil, err
	}
	if err := nc.PublishRequest(varzSubject, answers.Subject, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, varzTimeout)
	defer cancel()
	found := map[string]varz{}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			if len(found) == 0 {
				return nil, fmt.Errorf("is it a user of the system account? %w", err)
			}
			return found, nil // laxServers names those that are missing
		}
		var v varz
		if json.Unmarshal(m.Data, &v) == nil && v.Server.Name != "" {
			found[v.Server.Name] = v
		}
		if len(found) > 0 && !slices.ContainsFunc(replicas, func(name string) bool {
			_, ok := found[name]
			return !ok
		}) {
			return found, nil
		}
	}
}

// laxServers returns a warning that names the replicas that do not sync every write or did
// not answer, or "". Without replicas it is about all servers that answered.
func laxServers(replicas []string, found map[string]varz) string {
	if len(replicas) == 0 {
		replicas = slices.Collect(maps.Keys(found))
	}
	slices.Sort(replicas)
	replicas = slices.Compact(replicas) // several streams may share them
	var lax []string
	for _, name := range replicas {
		v, answered := found[name]
		switch config := v.Data.JetStream.Config; {
		case !answered:
			lax = append(lax, name+" did not answer")
		case !config.SyncAlways:
			lax = append(lax, fmt.Sprintf("%s syncs every %v", name, config.SyncInterval))
		}
	}
	if len(lax) == 0 {
		return ""
	}
	return "values may not survive a power failure of all servers: sync_interval is not \"always\": " + strings.Join(lax, ", ")
}
