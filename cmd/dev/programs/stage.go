package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// Stage is where the programs work.
type Stage struct {
	Programs string // the folder of perksd and perksctl
	Folder   string // the folder of everything that they write
}

// Patience is more than any of their commands takes; one that hangs must not hang those who watch.
const Patience = time.Minute

// Env is the environment of both programs, but for what the terminal says of itself.
func (s Stage) Env() []string {
	return []string{
		"PATH=" + s.Programs,
		"HOME=" + s.Folder,
		"PERKSCTL_CONFIG_DIR=" + filepath.Join(s.Folder, "perksctl"),
		"PERKSCTL_KEYRING=off", // nothing is left behind on this computer
		"PERKSD_DATABASE=sqlite:" + filepath.Join(s.Folder, "perks.db"),
	}
}

// Command is a command line of one of the programs.
func (s Stage) Command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.Programs, words[0]), words[1:]...)
	cmd.Dir = s.Folder
	cmd.Env = append(s.Env(), "TERM="+os.Getenv("TERM"))
	return cmd
}

// Run runs a command and returns what it printed. The error has what it complained of.
func (s Stage) Run(ctx context.Context, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	cmd := s.Command(ctx, words...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", words[0], words[1], errors.Join(err, ctx.Err()), bytes.TrimSpace(complaints.Bytes()))
	}
	return string(output), nil
}

// NewClient makes a client with an id of one's choice, which may do everything.
func (s Stage) NewClient(ctx context.Context, name, id string) (secret string, err error) {
	output, err := s.Run(ctx, "perksd", "client", "create", "--name", name, "--id", id, "-o", "json")
	if err != nil {
		return "", err
	}
	var created struct {
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(output), &created); err != nil {
		return "", fmt.Errorf("reading the new client: %w", err)
	}
	return created.Secret, nil
}

// Server is a running perksd.
type Service struct {
	Address string // such as http://127.0.0.1:8080
	Log     string // the file that keeps what it says

	cmd   *exec.Cmd
	ended chan struct{} // closed when it is gone; err is set before
	err   error
}

var listeningLine = regexp.MustCompile(`listening on (http://[0-9.:]+)\n`)

// lookEvery is how often the log of a server that starts is read.
const lookEvery = 10 * time.Millisecond

// Serve starts perksd on a free port of this computer, with more flags if need be, and returns once it says where it
// listens. Its log is a file, as an operator's would be: a reader in between could hold it up.
func (s Stage) Serve(flags ...string) (*Service, error) {
	// Not bound to anybody's context: who is interrupted still stops the server in an orderly way.
	cmd := s.Command(context.Background(), append([]string{"perksd", "serve", "--addr", "127.0.0.1:0"}, flags...)...)
	log, err := os.Create(filepath.Join(s.Folder, "perksd.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting perksd: %w", err)
	}
	server := &Service{Log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	go func() {
		server.err = cmd.Wait()
		close(server.ended)
	}()
	if server.Address, err = server.awaitAddress(); err != nil {
		_ = cmd.Process.Kill() // it may have ended
		<-server.ended
		return nil, err
	}
	return server, nil
}

func (s *Service) awaitAddress() (string, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	giveUp := time.NewTimer(Patience)
	defer giveUp.Stop()
	for {
		said, err := os.ReadFile(s.Log)
		if err != nil {
			return "", err
		}
		if found := listeningLine.FindSubmatch(said); found != nil {
			return string(found[1]), nil
		}
		select {
		case <-look.C:
		case <-s.ended:
			return "", fmt.Errorf("perksd ended before it listened (%v); its log is %s", s.err, s.Log)
		case <-giveUp.C:
			return "", fmt.Errorf("perksd did not listen within %s; its log is %s", Patience, s.Log)
		}
	}
}

// PID is the server's process.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Ended is closed when the server's process is gone.
func (s *Service) Ended() <-chan struct{} { return s.ended }

// Stop has the server drain, and fails if it does not end in good order.
func (s *Service) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping perksd: %w", err)
	}
	kill := time.AfterFunc(Patience, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("perksd did not stop in good order: %w; its log is %s", s.err, s.Log)
	}
	return nil
}
