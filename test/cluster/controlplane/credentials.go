package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// address is where the API was served before, or any free port of 127.0.0.1.
func (c *cluster) address() string {
	kc, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return "127.0.0.1:0"
	}
	return strings.TrimPrefix(kc.Clusters["test"].Server, "https://")
}

// keepCredentials makes the server's certificate, the key that signs service account tokens, and an admin token with its kubeconfig,
// unless an earlier run left them: tokens that were issued then stay valid.
func (c *cluster) keepCredentials(server string) error {
	if _, err := os.Stat(c.kubeconfig); err == nil {
		return c.readCredentials()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)},
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	if err != nil {
		return err
	}
	signing, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	signingPEM, err := keyutil.MarshalPrivateKeyToPEM(signing)
	if err != nil {
		return err
	}
	token := rand.Text()
	for name, data := range map[string][]byte{"apiserver.crt": cert, "apiserver.key": key, "sa.key": signingPEM,
		"tokens.csv": []byte(token + ",admin,admin,system:masters\n")} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	kc := clientcmdapi.NewConfig()
	kc.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: cert}
	kc.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	kc.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin"}
	kc.CurrentContext = "test"
	return cmp.Or(clientcmd.WriteToFile(*kc, c.kubeconfig), c.readCredentials())
}

func (c *cluster) readCredentials() (err error) {
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return err
	}
	c.config.QPS, c.config.Burst = 1000, 2000
	c.client, err = kubernetes.NewForConfig(c.config)
	return err
}
