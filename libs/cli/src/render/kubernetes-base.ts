import { provisionUser, redisPrefixOf } from '@agentmesh/mesh';
import { argsOf, containerSecurity, indented, loginOf, podSecurity } from './kubernetes-deployment.ts';

/** Returns the Job that makes the streams of NATS and loads the functions of Redis. */
export function provisionJob({
  image,
  args,
  namespace,
}: {
  image: string;
  args: readonly string[];
  namespace: string;
}): string {
  return `# Makes the streams, consumers and buckets, and loads the functions of Redis, so that no service needs the right to. Safe to repeat. A Job cannot be changed once it
# is there: delete it before you apply a new version.
apiVersion: batch/v1
kind: Job
metadata:
  name: provision
  labels:
    app.kubernetes.io/name: provision
spec:
  backoffLimit: 6
  activeDeadlineSeconds: 300
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app.kubernetes.io/name: provision
    spec:
      restartPolicy: OnFailure
      serviceAccountName: mesh
      automountServiceAccountToken: false
      enableServiceLinks: false
${indented(podSecurity, 6)}
      containers:
        - name: provision
          image: ${image}:dev
${indented(argsOf(args).join('\n'), 10)}
          envFrom:
            - configMapRef:
                name: mesh
          env:
${indented(loginOf(provisionUser, namespace), 12)}
            # As many as the NATS cluster has servers: 1 or 3.
            - name: MESH_STREAM_REPLICAS
              value: "3"
          resources:
            requests:
              cpu: 50m
              memory: 128Mi
            limits:
              memory: 256Mi
${indented(containerSecurity, 10)}
`;
}

/** The account of all pods. */
export const serviceAccount = `# Without rights: the mesh does not talk to Kubernetes.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: mesh
automountServiceAccountToken: false
`;

/** Returns the variables that all services have in common. */
export function meshEnvironment(namespace: string): string {
  return `# What all services have in common; becomes the ConfigMap \`mesh\`. An overlay changes single lines.
NATS_URL=nats://nats.nats.svc.cluster.local:4222
MESH_NAMESPACE=${namespace}
MESH_REDIS_PREFIX=${redisPrefixOf(namespace)}
MESH_LOG_LEVEL=info
MESH_LOG_FORMAT=json
MESH_HEALTH_HOST=0.0.0.0
MESH_HEALTH_PORT=8081
MESH_MAX_CONCURRENCY=16
MESH_GRACE_MS=25000
`;
}

/** Returns the kustomization of a base with the manifests of services. */
export function kustomization(files: readonly string[]): string {
  return `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - service-account.yaml
  - provision.yaml
  - gateway.yaml
${files.map((file) => `  - ${file}\n`).join('')}# A generator gives the ConfigMap a name by its content, so that pods are replaced when it changes.
configMapGenerator:
  - name: mesh
    envs:
      - mesh.env
labels:
  - pairs:
      app.kubernetes.io/part-of: agentmesh
`;
}
