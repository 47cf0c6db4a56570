// Package deploy checks what is in the directory deploy against the schemas of those who read it.
package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const directory = "../../../deploy"

// podMonitor is what the Prometheus Operator reads of one.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port     string          `json:"port"`
			Interval metav1.Duration `json:"interval"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// manifests are those of Kubernetes by their kind.
func manifests(t *testing.T) map[string]any {
	t.Helper()
	files, err := filepath.Glob(directory + "/kubernetes/*.yaml*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	read := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(text, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		object := map[string]any{
			"apps/v1 Deployment": new(appsv1.Deployment), "batch/v1 Job": new(batchv1.Job),
			"policy/v1 PodDisruptionBudget":       new(policyv1.PodDisruptionBudget),
			"networking.k8s.io/v1 NetworkPolicy":  new(networkingv1.NetworkPolicy),
			"monitoring.coreos.com/v1 PodMonitor": new(podMonitor),
			"v1 ConfigMap":                        new(corev1.ConfigMap),
			"v1 Secret":                           new(corev1.Secret),
			"v1 Service":                          new(corev1.Service),
		}[kind.APIVersion+" "+kind.Kind]
		if object == nil || read[kind.Kind] != nil {
			t.Fatalf("%s is a further %s of %s", file, kind.Kind, kind.APIVersion)
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		read[kind.Kind] = object
	}
	return read
}

func TestTheManifestsOfKubernetesFitTogether(t *testing.T) {
	all := manifests(t)
	deployment, job := all["Deployment"].(*appsv1.Deployment), all["Job"].(*batchv1.Job)
	service, budget := all["Service"].(*corev1.Service), all["PodDisruptionBudget"].(*policyv1.PodDisruptionBudget)
	pods := deployment.Spec.Template
	set := labels.Set(pods.Labels)
	if !labels.SelectorFromSet(deployment.Spec.Selector.MatchLabels).Matches(set) ||
		!labels.SelectorFromSet(service.Spec.Selector).Matches(set) ||
		!labels.SelectorFromSet(budget.Spec.Selector.MatchLabels).Matches(set) {
		t.Errorf("a selector does not match the pods' labels %v", set)
	}
	if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(job.Spec.Template.Labels)) {
		t.Error("the service sends requests to the job")
	}
	serving, migrating := pods.Spec.Containers[0], job.Spec.Template.Spec.Containers[0]
	if serving.Image != migrating.Image {
		t.Errorf("the job runs %s, and the deployment %s", migrating.Image, serving.Image)
	}
	ports := map[string]bool{}
	for _, p := range serving.Ports {
		ports[p.Name] = true
	}
	for name, probe := range map[string]*corev1.Probe{"startup": serving.StartupProbe,
		"liveness": serving.LivenessProbe, "readiness": serving.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("the probe of %s is %v", name, probe)
		}
	}
	if !ports[service.Spec.Ports[0].TargetPort.StrVal] {
		t.Errorf("the service's port leads to %v", service.Spec.Ports[0].TargetPort)
	}
	policy, monitor := all["NetworkPolicy"].(*networkingv1.NetworkPolicy), all["PodMonitor"].(*podMonitor)
	restricted, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || !restricted.Matches(set) || !restricted.Matches(labels.Set(job.Spec.Template.Labels)) {
		t.Errorf("the network policy is not about all pods: %v", err)
	}
	admitted := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		if len(rule.From) == 0 {
			t.Errorf("everyone may reach %+v", rule.Ports)
		}
		for _, p := range rule.Ports {
			admitted[p.Port.StrVal] = true
		}
	}
	if !maps.Equal(admitted, ports) || len(policy.Spec.Egress) == 0 {
		t.Errorf("the pods have the ports %v, and the network policy admits %v", ports, admitted)
	}
	if read := monitor.Spec; !labels.SelectorFromSet(read.Selector.MatchLabels).Matches(set) ||
		len(read.PodMetricsEndpoints) != 1 || !ports[read.PodMetricsEndpoints[0].Port] {
		t.Errorf("the monitor of pods reads %+v", read)
	}
	if evict := budget.Spec.UnhealthyPodEvictionPolicy; evict == nil || *evict != policyv1.AlwaysAllow {
		t.Error("a pod that is not ready can keep a node from being drained")
	}
	var spread []string
	for _, constraint := range pods.Spec.TopologySpreadConstraints {
		spread = append(spread, constraint.TopologyKey)
		if !slices.Contains(constraint.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey) {
			t.Errorf("by %s, pods of the former version count during an update", constraint.TopologyKey)
		}
	}
	if !slices.Equal(spread, []string{corev1.LabelTopologyZone, corev1.LabelHostname}) {
		t.Errorf("the pods are spread by %v", spread)
	}
	stop := serving.Lifecycle.PreStop
	if stop == nil || stop.Sleep == nil || *pods.Spec.TerminationGracePeriodSeconds < stop.Sleep.Seconds+37 {
		t.Errorf("before it stops, the container does %+v", stop)
	}
	// What the pods take their variables from is there under that name.
	names := []string{all["ConfigMap"].(*corev1.ConfigMap).Name, all["Secret"].(*corev1.Secret).Name}
	for _, c := range []corev1.Container{serving, migrating} {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil && from.ConfigMapRef.Name != names[0] || from.SecretRef != nil &&
				from.SecretRef.Name != names[1] {
				t.Errorf("%v is not there", from)
			}
		}
	}
}

// TestPodsFindTheAuthorityOfTheDatabase compares the path in the comment on the address with where the pods have it.
func TestPodsFindTheAuthorityOfTheDatabase(t *testing.T) {
	text, err := os.ReadFile(directory + "/kubernetes/configmap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := manifests(t)
	for name, pod := range map[string]corev1.PodSpec{
		"deployment": all["Deployment"].(*appsv1.Deployment).Spec.Template.Spec,
		"job":        all["Job"].(*batchv1.Job).Spec.Template.Spec,
	} {
		found := false
		for _, mount := range pod.Containers[0].VolumeMounts {
			for _, v := range pod.Volumes {
				from := v.ConfigMap
				found = found || v.Name == mount.Name && from != nil && *from.Optional &&
					strings.Contains(string(text), "configmap "+from.Name+" --from-file=ca.crt") &&
					strings.Contains(string(text), "sslrootcert="+mount.MountPath+"/ca.crt")
			}
		}
		if !found {
			t.Errorf("the %s has no certificate of the database's authority", name)
		}
	}
}

// TestTheTableOfConnectionsCountsAnUpdate compares docs/postgresql.md with the deployment.
func TestTheTableOfConnectionsCountsAnUpdate(t *testing.T) {
	text, err := os.ReadFile("../../../docs/postgresql.md")
	if err != nil {
		t.Fatal(err)
	}
	spec := manifests(t)["Deployment"].(*appsv1.Deployment).Spec
	replicas := int(*spec.Replicas) + spec.Strategy.RollingUpdate.MaxSurge.IntValue()
	if want := fmt.Sprintf("| %d × 32 + 20 = %d |", replicas, replicas*32+20); !strings.Contains(string(text), want) {
		t.Errorf("docs/postgresql.md lacks %q", want)
	}
}

// TestPodsRunWithoutRights holds them to the profile "restricted" of Kubernetes' pod security standards.
func TestPodsRunWithoutRights(t *testing.T) {
	all := manifests(t)
	for name, pod := range map[string]corev1.PodSpec{
		"deployment": all["Deployment"].(*appsv1.Deployment).Spec.Template.Spec,
		"job":        all["Job"].(*batchv1.Job).Spec.Template.Spec,
	} {
		s := pod.SecurityContext
		if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser != 65532 ||
			s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("the %s runs with %+v", name, s)
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
				s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
				s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0 {
				t.Errorf("the container of the %s runs with %+v", name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("the container of the %s has no bounds: %+v", name, c.Resources)
			}
		}
	}
}

// TestDockerComposeReadsItsFile checks it by the schema of Compose, with its variables.
func TestDockerComposeReadsItsFile(t *testing.T) {
	load := func(env ...string) (*types.Project, error) {
		options, err := cli.NewProjectOptions([]string{directory + "/docker-compose.yml"}, cli.WithEnv(env))
		if err != nil {
			t.Fatal(err)
		}
		return options.LoadProject(t.Context())
	}
	project, err := load("PERKSD_VERSION=1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	perksd, database := project.Services["perksd"], project.Services["database"]
	if perksd.Image != "perksd:1.0.0" || perksd.DependsOn["database"].Condition != types.ServiceConditionHealthy ||
		!perksd.ReadOnly || perksd.Privileged {
		t.Errorf("perksd is %+v", perksd)
	}
	for name, s := range project.Services {
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		if s.MemLimit == 0 {
			t.Errorf("%s may use all memory", name)
		}
		for _, secret := range s.Secrets {
			if project.Secrets[secret.Source].File == "" {
				t.Errorf("%s uses the secret %s, which is not there", name, secret.Source)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s can be reached from other machines: %+v", name, port)
			}
		}
	}
	backup := project.Services["backup"]
	for name, s := range map[string]types.ServiceConfig{"database": database, "backups": backup} {
		if len(s.Volumes) != 1 || s.Volumes[0].Source != name || project.Volumes[name].Name == "" {
			t.Errorf("%s is kept in %v of %v", name, s.Volumes, project.Volumes)
		}
	}
	// A former dump must stay until a new one is complete, and the password must not be on a command line.
	script := strings.Join(backup.Command, "\n")
	if backup.Image != database.Image || !slices.Equal(backup.Entrypoint, []string{"sh", "-euc"}) ||
		!strings.Contains(script, "pg_dump --format=custom --file=$dump.part\n") ||
		strings.Index(script, "mv ") > strings.Index(script, "find ") {
		t.Errorf("the backup runs %v %s", backup.Entrypoint, script)
	}
	// Whom the image makes is a superuser.
	if user := database.Environment["POSTGRES_USER"]; user != nil || *backup.Environment["PGUSER"] != "perks" {
		t.Errorf("the image makes %v, and the backup is %v", user, backup.Environment["PGUSER"])
	}
	create, err := os.ReadFile(project.Configs["create-database"].File)
	if err != nil || len(database.Configs) != 1 || !strings.HasSuffix(database.Configs[0].Target, ".sql") ||
		!strings.Contains(string(create), "CREATE ROLE perks LOGIN PASSWORD") ||
		strings.Contains(string(create), " SUPERUSER") {
		t.Errorf("the database is made by %+v: %v %s", database.Configs, err, create)
	}
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "name the version of the image that was loaded") {
		t.Errorf("without a version: %v", err)
	}
}

// TestTheClusterOfPostgreSQLLetsNobodyElseIn reads deploy/ha. make ha runs it.
func TestTheClusterOfPostgreSQLLetsNobodyElseIn(t *testing.T) {
	var patroni struct {
		RestAPI    struct{ Listen, CertFile, KeyFile string }
		Etcd       struct{ Protocol, CACert, Cert, Key string }
		PostgreSQL struct {
			Listen         string
			HBA            []string `json:"pg_hba"` // without it, initdb's lines trust everyone there
			Parameters     map[string]any
			Authentication map[string]struct{ SSLMode string }
		}
	}
	text, err := os.ReadFile(directory + "/ha/patroni.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &patroni); err != nil {
		t.Fatal(err)
	}
	if api := patroni.RestAPI; api.Listen != "" || api.CertFile == "" || api.KeyFile == "" {
		t.Errorf("Patroni's API is %+v; node.env has the address", api)
	}
	if etcd := patroni.Etcd; etcd.Protocol != "https" || etcd.CACert == "" || etcd.Cert == "" || etcd.Key == "" {
		t.Errorf("Patroni connects to etcd with %+v", etcd)
	}
	server := patroni.PostgreSQL
	if server.Listen != "" || server.Parameters["ssl"] != "on" || len(server.HBA) == 0 {
		t.Errorf("PostgreSQL is %+v; node.env has the address", server)
	}
	for _, line := range server.HBA {
		words := strings.Fields(line)
		method := words[len(words)-1]
		if words[0] != "hostssl" && words[0] != "local" || method != "scram-sha-256" && method != "peer" {
			t.Errorf("pg_hba has %q", line)
		}
	}
	for _, user := range []string{"superuser", "replication", "rewind"} {
		if mode := server.Authentication[user].SSLMode; mode != "verify-full" {
			t.Errorf("%s connects with sslmode=%s", user, mode)
		}
	}
	if strings.Contains(string(text), "&") {
		t.Error("patroni.yml has an anchor: Patroni changes such sections in place, so all users become one")
	}

	node, err := os.ReadFile(directory + "/ha/node.env")
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(node)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		variables[name] = value
		if strings.Contains(value, "http://") || strings.Contains(value, "0.0.0.0") {
			t.Errorf("node.env has %s", line)
		}
	}
	for name, want := range map[string]string{
		"ETCD_CLIENT_CERT_AUTH": "true", "ETCD_PEER_CLIENT_CERT_AUTH": "true", "PATRONI_RESTAPI_USERNAME": "patroni",
		"PATRONI_RESTAPI_PASSWORD": "change-me", "PATRONI_RESTAPI_LISTEN": "10.20.0.11:8008",
		"PATRONI_POSTGRESQL_LISTEN": "10.20.0.11:5432",
	} {
		if variables[name] != want {
			t.Errorf("%s is %q, want %q", name, variables[name], want)
		}
	}
	proxy, err := os.ReadFile(directory + "/ha/haproxy.cfg")
	if err != nil || !strings.Contains(string(proxy), "check-ssl verify required ca-file /etc/perks-ha/ca.crt") {
		t.Errorf("HAProxy does not verify whom it asks: %v", err)
	}
}
