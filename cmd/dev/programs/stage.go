package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/perks/api/client"
)

// Workspace is where the programs work.
type Workspace struct {
	Programs string // the directory of perksd and perksctl
	Dir      string // the directory of everything that they write
}

// Env is the environment of both programs, but for what the terminal says of itself.
func (s Workspace) Env() []string {
	return []string{
		"PATH=" + s.Programs,
		"HOME=" + s.Dir,
		"PERKSCTL_CONFIG_DIR=" + filepath.Join(s.Dir, "perksctl"),
		"PERKSCTL_KEYRING=off", // nothing is left behind on this computer
		"PERKSD_DATABASE=sqlite:" + filepath.Join(s.Dir, "perks.db"),
	}
}

// Command is a command line of one of the programs.
func (s Workspace) Command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.Programs, words[0]), words[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(s.Env(), "TERM="+os.Getenv("TERM"))
	return cmd
}

// Run runs a command and returns what it printed. The error has what it complained of.
func (s Workspace) Run(ctx context.Context, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	output, err := Output(s.Command(ctx, words...))
	return output, errors.Join(err, ctx.Err())
}

// NewClient makes a client, with an id of one's choice and more flags if need be.
func (s Workspace) NewClient(ctx context.Context, id string, flags ...string) (client.Credentials, error) {
	output, err := s.Run(ctx, append([]string{"perksd", "client", "create", "--name", id, "--id", id, "-o", "json"},
		flags...)...)
	if err != nil {
		return client.Credentials{}, err
	}
	return readClient(output)
}

// readClient reads what perksd client create prints.
func readClient(output string) (client.Credentials, error) {
	var created struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(output), &created); err != nil {
		return client.Credentials{}, fmt.Errorf("reading the new client: %w", err)
	}
	return client.Credentials{ID: created.ID, Secret: created.Secret}, nil
}

// Serve starts perksd on a free port of this computer, with more flags if need be, and returns once it listens. It
// ignores the callers' contexts, so that an interrupted caller can still stop it in order.
func (s Workspace) Serve(flags ...string) (*Process, error) {
	log, err := os.Create(filepath.Join(s.Dir, "perksd.log"))
	if err != nil {
		return nil, err
	}
	return Start(s.Command(context.Background(),
		append([]string{"perksd", "serve", "--addr", "127.0.0.1:0"}, flags...)...), log)
}
