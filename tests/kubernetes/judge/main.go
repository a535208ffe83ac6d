// judge: what kubelet does, by kubelet's own client packages (k8s.io/kubelet, k8s.io/api, grpc-go), as lines of JSON.
//
//	judge dra REGISTRATION_SOCKET < lines {"op":"prepare"|"unprepare","claims":[[namespace,uid,name]...]}
//	judge plugins FOLDER          < lines {"op":"allocate","resource":R,"ids":[...]} | {"op":"devices"} | {"op":"start",...}
//	judge types                   < lines {"object":OBJECT}: read as its own type, strictly, and written again
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	admission "k8s.io/api/admission/v1"
	registrations "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	resource1 "k8s.io/api/resource/v1beta1"
	resource2 "k8s.io/api/resource/v1beta2"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, target string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", target)
		}))
}

func say(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

type order struct {
	Op       string
	Claims   [][3]string
	Resource string
	Ids      []string
	Object   json.RawMessage
}

// orders calls do for each line of the input, and says its answer or its error.
func orders(do func(order) (any, error)) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			say(map[string]string{"error": err.Error()})
			continue
		}
		answer, err := do(o)
		if err != nil {
			say(map[string]string{"error": err.Error()})
			continue
		}
		say(answer)
	}
}

func driver(path string) error {
	connection, err := dial(path)
	if err != nil {
		return err
	}
	client := registration.NewRegistrationClient(connection)
	ctx, end := limit()
	defer end()
	info, err := client.GetInfo(ctx, &registration.InfoRequest{})
	if err != nil {
		return err
	}
	if _, err = client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		return err
	}
	say(info)
	to, err := dial(info.Endpoint)
	if err != nil {
		return err
	}
	node := dra.NewDRAPluginClient(to)
	orders(func(o order) (any, error) {
		ctx, end := limit()
		defer end()
		var claims []*dra.Claim
		for _, c := range o.Claims {
			claims = append(claims, &dra.Claim{Namespace: c[0], UID: c[1], Name: c[2]})
		}
		if o.Op == "prepare" {
			return node.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: claims})
		}
		return node.NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: claims})
	})
	return nil
}

type server struct {
	sync.Mutex
	folder  string
	clients map[string]plugin.DevicePluginClient
	devices map[string]map[string]string
}

// Register asks for the options before it answers, as kubelet does from 1.32.
func (s *server) Register(ctx context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	connection, err := dial(filepath.Join(s.folder, r.Endpoint))
	if err != nil {
		return nil, err
	}
	client := plugin.NewDevicePluginClient(connection)
	if _, err = client.GetDevicePluginOptions(ctx, &plugin.Empty{}); err != nil {
		return nil, err
	}
	stream, err := client.ListAndWatch(context.Background(), &plugin.Empty{})
	if err != nil {
		return nil, err
	}
	s.Lock()
	s.clients[r.ResourceName] = client
	s.Unlock()
	go func() {
		for {
			list, err := stream.Recv()
			if err != nil {
				return
			}
			found := map[string]string{}
			for _, d := range list.Devices {
				found[d.ID] = d.Health
			}
			s.Lock()
			s.devices[r.ResourceName] = found
			s.Unlock()
		}
	}()
	return &plugin.Empty{}, nil
}

func plugins(folder string) error {
	listener, err := net.Listen("unix", filepath.Join(folder, "kubelet.sock"))
	if err != nil {
		return err
	}
	s := &server{folder: folder, clients: map[string]plugin.DevicePluginClient{}, devices: map[string]map[string]string{}}
	serves := grpc.NewServer()
	plugin.RegisterRegistrationServer(serves, s)
	go serves.Serve(listener)
	orders(func(o order) (any, error) {
		s.Lock()
		client := s.clients[o.Resource]
		devices := s.devices[o.Resource]
		s.Unlock()
		if o.Op == "devices" {
			return devices, nil
		}
		if client == nil {
			return nil, fmt.Errorf("%s is not registered", o.Resource)
		}
		ctx, end := limit()
		defer end()
		if o.Op == "start" {
			return client.PreStartContainer(ctx, &plugin.PreStartContainerRequest{DevicesIDs: o.Ids})
		}
		if o.Op == "prefer" {
			return client.GetPreferredAllocation(ctx, &plugin.PreferredAllocationRequest{ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{
				{AvailableDeviceIDs: o.Ids, AllocationSize: 1}}})
		}
		return client.Allocate(ctx, &plugin.AllocateRequest{ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIDs: o.Ids}}})
	})
	return nil
}

// What our programs write, by apiVersion and kind.
var types = map[string]func() any{
	"resource.k8s.io/v1 ResourceSlice":              func() any { return &resource.ResourceSlice{} },
	"resource.k8s.io/v1beta2 ResourceSlice":         func() any { return &resource2.ResourceSlice{} },
	"resource.k8s.io/v1beta1 ResourceSlice":         func() any { return &resource1.ResourceSlice{} },
	"resource.k8s.io/v1 ResourceClaimTemplate":      func() any { return &resource.ResourceClaimTemplate{} },
	"resource.k8s.io/v1beta2 ResourceClaimTemplate": func() any { return &resource2.ResourceClaimTemplate{} },
	"resource.k8s.io/v1beta1 ResourceClaimTemplate": func() any { return &resource1.ResourceClaimTemplate{} },
	"v1 Event":  func() any { return &core.Event{} },
	"v1 Node":   func() any { return &core.Node{} },
	"v1 Pod":    func() any { return &core.Pod{} },
	"v1 Secret": func() any { return &core.Secret{} },
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": func() any { return &registrations.MutatingWebhookConfiguration{} },
	"admission.k8s.io/v1 AdmissionReview":                          func() any { return &admission.AdmissionReview{} },
}

func typed(o order) (any, error) {
	var head struct{ ApiVersion, Kind string }
	if err := json.Unmarshal(o.Object, &head); err != nil {
		return nil, err
	}
	empty, known := types[head.ApiVersion+" "+head.Kind]
	if !known {
		return nil, fmt.Errorf("%s %s is of no type that is known here", head.ApiVersion, head.Kind)
	}
	object := empty()
	reads := json.NewDecoder(bytes.NewReader(o.Object))
	reads.DisallowUnknownFields()
	if err := reads.Decode(object); err != nil {
		return nil, err
	}
	return object, nil
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "dra":
		err = driver(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "plugins":
		err = plugins(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "types":
		orders(typed)
	default:
		err = fmt.Errorf("usage: judge dra SOCKET | plugins FOLDER | types")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
