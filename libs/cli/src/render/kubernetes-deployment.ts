import { natsUserOf } from '@agentmesh/mesh';
import { type DeployedService, secretOf } from './deployed-service.ts';

/** The parts in which the Deployments of agents, tools and gateways differ. All are lines without indentation. */
export interface DeploymentParts {
  /** The namespace of the mesh. */
  namespace: string;
  /** The lines about the number of replicas. */
  replicas: readonly string[];
  /** The environment variables beside those of every service. */
  env: readonly string[];
  /** The lines about the end of a pod: its time, and a comment. */
  grace: readonly string[];
  /** The ports beside that of health. */
  ports: readonly string[];
  lifecycle: readonly string[];
}

/** The parts of services that are no gateway. */
export const usualParts: Omit<DeploymentParts, 'replicas' | 'namespace'> = {
  env: [],
  grace: [
    '# More than MESH_GRACE_MS, so that the service ends by itself.',
    'terminationGracePeriodSeconds: 35',
  ],
  ports: [],
  lifecycle: [],
};

/** The security of a container: it changes no file of its image and has no rights of the system. */
export const containerSecurity = `securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL`;

/** The security of a pod. */
export const podSecurity = `securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile:
    type: RuntimeDefault`;

/** Indents each line of a text. */
export function indented(text: string, by: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(by));
}

/** Indents lines and ends them, or returns nothing for none. */
function block(lines: readonly string[], by: number): string {
  return lines.length === 0 ? '' : `${indented(lines.join('\n'), by)}\n`;
}

/** Returns the variable of a Secret's key. */
export function fromSecret(variable: string, secret: string, key: string): string {
  return `- name: ${variable}
  valueFrom:
    secretKeyRef:
      name: ${secret}
      key: ${key}`;
}

/** Returns the variables by which a service logs in to NATS and Redis. */
export function loginOf(user: string, namespace: string): string {
  return `${natsLoginOf(user, namespace)}
${fromSecret('REDIS_URL', secretOf('redis', user), 'url')}`;
}

function natsLoginOf(user: string, namespace: string): string {
  return `- name: MESH_NATS_USER
  value: ${natsUserOf(user, namespace)}
${fromSecret('MESH_NATS_PASSWORD', secretOf('nats', user), 'password')}`;
}

const credentialKeys = fromSecret('CREDENTIAL_KEYS', 'credentials', 'keys');

/** Returns the lines of a container's arguments. */
export function argsOf(args: readonly string[] | undefined): string[] {
  return args === undefined ? [] : ['args:', ...args.map((arg) => `  - ${JSON.stringify(arg)}`)];
}

/** Returns the ports of a service that tells its health by HTTP, and the probes that ask for it. */
function healthPorts(parts: DeploymentParts): string {
  return `          ports:
${block(parts.ports, 12)}            - name: health
              containerPort: 8081
          startupProbe:
            httpGet:
              path: /livez
              port: health
            periodSeconds: 2
            failureThreshold: 30
          livenessProbe:
            httpGet:
              path: /livez
              port: health
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
`;
}

/** Returns the Deployment of a service. */
export function deployment(service: DeployedService, parts: DeploymentParts): string {
  const { name, user, manifest, image, args, isPython = false } = service;
  const isKeeper = manifest.kind === 'keeper';
  const spread = `topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: ${name}`;
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels:
    app.kubernetes.io/name: ${name}
spec:
${block(parts.replicas, 2)}  selector:
    matchLabels:
      app.kubernetes.io/name: ${name}
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: ${name}
    spec:
      serviceAccountName: mesh
      # The API is not used, and the variables that Kubernetes makes of services could read as ours.
      automountServiceAccountToken: false
      enableServiceLinks: false
${block(parts.grace, 6)}${indented(podSecurity, 6)}
${block([spread], 6)}      containers:
        - name: ${name}
          image: ${image}:dev
${block(argsOf(args), 10)}          envFrom:
            - configMapRef:
                name: mesh
          env:
${indented((isPython ? natsLoginOf : loginOf)(user, parts.namespace), 12)}
${block(isKeeper ? [credentialKeys] : [], 12)}${block(parts.env, 12)}${isPython ? '' : healthPorts(parts)}${block(parts.lifecycle, 10)}          resources:
            requests:
              cpu: 100m
              memory: 192Mi
            # No CPU limit: a throttled event loop misses heartbeats, and its calls go elsewhere.
            limits:
              memory: 512Mi
${indented(containerSecurity, 10)}
`;
}

/** Returns the disruption budget of a service, one of whose replicas stays. */
export function disruptionBudget(name: string): string {
  return `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: ${name}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: ${name}
`;
}
