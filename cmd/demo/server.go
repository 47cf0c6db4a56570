package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// prepare makes a client and sample data, starts the server on a free loopback port and logs perksctl in.
func prepare(ctx context.Context, s *shell) (*server, error) {
	created, err := s.output(ctx, step{command: []string{"perksd", "client", "create", "--name", "Demo", "--id", "demo", "-o", "json"}})
	if err != nil {
		return nil, err
	}
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(created), &client); err != nil {
		return nil, fmt.Errorf("reading the new client: %w", err)
	}
	if err := s.step(ctx, step{
		say:     "An operator loads sample data: perks, users, and rental listings that belong to the client 'demo'.",
		command: []string{"perksd", "demo-data", "--perks", "2000", "--users", "200", "--properties", "20", "--owner", client.ID},
	}); err != nil {
		return nil, err
	}
	server, err := start(s)
	if err != nil {
		return nil, err
	}
	s.say("The server runs at " + server.address + ". Logging in asks for a token before anything is saved.")
	login := []string{"perksctl", "auth", "login", "--api-url", server.address + "/v2", "--client-id", client.ID, "--secret-stdin"}
	fmt.Fprintf(s.out, "$ %s < secret\n", quoted(login))
	output, err := s.output(ctx, step{command: login, input: client.Secret + "\n"})
	fmt.Fprint(s.out, indented(output))
	if err != nil {
		return nil, fmt.Errorf("%w; the server's log is %s", err, server.log)
	}
	return server, nil
}

// server is a running perksd.
type server struct {
	cmd     *exec.Cmd
	address string
	log     string        // the file that keeps what it says
	silent  chan struct{} // closed when it has said its last word
}

var listening = regexp.MustCompile(`listening on (http://[0-9.:]+)`)

// start returns once the server says where it listens. Everything that it says is kept in a file.
func start(s *shell) (*server, error) {
	// Not bound to the tour's context: an interrupted tour still stops its server in an orderly way.
	cmd := s.command(context.Background(), []string{"perksd", "serve", "--addr", "127.0.0.1:0"})
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.folder, "perksd.log")
	log, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting perksd: %w", err)
	}
	address, silent := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(silent)
		defer log.Close()
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(log, lines.Text())
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	select {
	case found := <-address:
		return &server{cmd: cmd, address: found, log: path, silent: silent}, nil
	case <-silent:
		return nil, fmt.Errorf("perksd ended before it listened (%v); its log is %s", cmd.Wait(), path)
	case <-time.After(stepTime):
		return nil, fmt.Errorf("perksd did not listen within %s (%v); its log is %s", stepTime, cmd.Process.Kill(), path)
	}
}

// stop has the server drain, and fails if it does not end in good order.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping perksd: %w", err)
	}
	kill := time.AfterFunc(stepTime, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.silent // Wait closes the pipe, and the last lines would be lost
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("perksd did not stop in good order: %w; its log is %s", err, s.log)
	}
	return nil
}
