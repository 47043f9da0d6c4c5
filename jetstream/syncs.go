package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// What a server has confirmed survives the death of its process: the operating system
// has it. Whether it survives a power loss depends on how often the server syncs its
// files, jetstream.sync_interval in its configuration: every two minutes unless it
// says otherwise, or "always". No client can ask for that over its own account: it is
// told to users of the system account, and by the monitoring port. So the check needs
// Options.System, and without it says that nothing is known.

// A varz is what a server tells of itself, of which this is the part that matters.
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
	askServers = "$SYS.REQ.SERVER.PING.VARZ"
	// serversWait is the longest that servers are waited for to tell of themselves.
	serversWait = 2 * time.Second
)

// checkSync warns unless every server that stores the channel syncs every write.
func (c *core) checkSync(ctx context.Context) {
	if c.link.server != nil { // it does: startServer
		return
	}
	if c.config.system == "" {
		c.warn(warnSync, "whether values survive a power loss is not known: only a user of the system account can ask the servers for their sync_interval (Options.System)")
		return
	}
	found, err := c.servers(ctx)
	if err != nil {
		c.warn(warnSync, fmt.Sprintf("whether values survive a power loss is not known: asking the servers failed: %v", err))
		return
	}
	c.warn(warnSync, lax(c.holders(), found))
}

// holders are the names of the servers that store the stream; none if it is one that
// is in no cluster.
func (c *core) holders() (names []string) {
	cluster := c.stream.CachedInfo().Cluster
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

// servers asks the servers for what they tell, until all that store the stream have
// answered.
func (c *core) servers(ctx context.Context) (map[string]varz, error) {
	nc, err := nats.Connect(c.config.system, c.config.systemNATS...)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	answers, err := nc.SubscribeSync(nc.NewRespInbox())
	if err != nil {
		return nil, err
	}
	if err := nc.PublishRequest(askServers, answers.Subject, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serversWait)
	defer cancel()
	found := map[string]varz{}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			if len(found) == 0 {
				return nil, fmt.Errorf("is it a user of the system account? %w", err)
			}
			return found, nil // lax names those that are missing
		}
		var v varz
		if json.Unmarshal(m.Data, &v) == nil && v.Server.Name != "" {
			found[v.Server.Name] = v
		}
		if holders := c.holders(); len(found) > 0 && !slices.ContainsFunc(holders, func(name string) bool {
			_, ok := found[name]
			return !ok
		}) {
			return found, nil
		}
	}
}

// lax says which of the holders do not sync every write, or did not answer; of
// whatever answered, if it is not known who holds the stream.
func lax(holders []string, found map[string]varz) string {
	if len(holders) == 0 {
		for name := range found {
			holders = append(holders, name)
		}
	}
	slices.Sort(holders)
	var bad []string
	for _, name := range holders {
		v, answered := found[name]
		switch config := v.Data.JetStream.Config; {
		case !answered:
			bad = append(bad, name+" does not say")
		case !config.SyncAlways:
			bad = append(bad, fmt.Sprintf("%s syncs every %v", name, config.SyncInterval))
		}
	}
	if len(bad) == 0 {
		return ""
	}
	return "values may not survive a power loss of all servers: sync_interval is not \"always\": " + strings.Join(bad, ", ")
}
