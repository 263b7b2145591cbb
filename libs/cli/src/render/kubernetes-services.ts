import type { ServiceManifest } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import type { DeployedService } from './deployed-service.ts';
import { deployment, disruptionBudget, fromSecret, usualParts } from './kubernetes-deployment.ts';

const scaledByOthers = [
  '# No replicas here: the autoscaler owns the number, and applying this file must not reset it.',
];

/**
 * Returns the manifests of an agent or a tool: its Deployment, and an autoscaler or a disruption budget.
 *
 * @param all the definitions of all services of the mesh
 */
export function serviceManifests(
  service: DeployedService,
  all: readonly ServiceManifest[],
  namespace: string,
): string {
  if (service.manifest.kind === 'agent') return agentManifests(service, all, namespace);
  const replicas = [...whyTwo(service.manifest, namespace), 'replicas: 2'];
  const parts = { ...usualParts, namespace, replicas };
  return `${deployment(service, parts)}---\n${disruptionBudget(service.name)}`;
}

function agentManifests(
  service: DeployedService,
  all: readonly ServiceManifest[],
  namespace: string,
): string {
  const { name, manifest } = service;
  const env = [fromSecret('GEMINI_API_KEY', 'model', 'gemini-api-key')];
  const parts = { ...usualParts, namespace, replicas: scaledByOthers, env };
  const { count, why } = leastReplicas(manifest.name, all);
  return `${deployment(service, parts)}---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: ${name}
spec:
  scaleTargetRef:
    name: ${name}
  # ${why}
  minReplicaCount: ${count}
  maxReplicaCount: 20
  # Seconds. The first run of an agent that is at zero waits this long before anything starts.
  pollingInterval: 5
  # Longer than a conversation pauses.
  cooldownPeriod: 300
  triggers:
    - type: nats-jetstream
      metadata:
        # The headless service: KEDA asks the server that leads the consumer.
        natsServerMonitoringEndpoint: nats-headless.nats.svc.cluster.local:8222
        account: ${namespace.toUpperCase()}
        # <MESH_NAMESPACE in capitals>_RUN
        stream: ${subjects(namespace).workStream('run')}
        consumer: ${subjects(namespace).workConsumer(manifest.name)}
        # Runs in work count too, so this is how many a replica should hold: MESH_MAX_CONCURRENCY.
        lagThreshold: "16"
        activationLagThreshold: "0"
    # Answers that come from outside while no replica is there: each becomes a run.
    - type: nats-jetstream
      metadata:
        natsServerMonitoringEndpoint: nats-headless.nats.svc.cluster.local:8222
        account: ${namespace.toUpperCase()}
        # <MESH_NAMESPACE in capitals>_OPERATION
        stream: ${subjects(namespace).workStream('operation')}
        consumer: ${subjects(namespace).workConsumer(manifest.name)}
        lagThreshold: "16"
        activationLagThreshold: "0"
`;
}

/**
 * Returns the least number of replicas of an agent. It is zero only for an agent that is reached by transfer
 * alone: its run commands wait in a queue, but asks and first messages should not wait.
 */
export function leastReplicas(agent: string, all: readonly ServiceManifest[]): { count: 0 | 1; why: string } {
  const callers = all.filter(({ asks }) => asks.includes(agent)).map(({ name }) => name);
  if (callers.length > 0)
    return {
      count: 1,
      why: `Asked by ${callers.join(', ')}. An ask is a request, which no queue keeps: without a replica it fails at once.`,
    };
  if (all.some(({ transfers }) => transfers.includes(agent)))
    return {
      count: 0,
      why: 'Reached by transfer alone: the run command waits in its queue, and one waiting command starts a replica.',
    };
  return { count: 1, why: 'A root agent: the first message of the day must not wait for a pod.' };
}

function whyTwo({ kind, longRunning, name }: ServiceManifest, namespace: string): string[] {
  if (kind === 'keeper')
    return [
      '# Two, so that a request whose keeper dies finds another. A keeper keeps nothing; with more load, scale on CPU.',
      '# Keepers alone have the keys of credentials.',
    ];
  if (!longRunning)
    return [
      '# Fixed: calls are requests, so no queue shows how many wait. Two, so that a call whose replica dies finds another. With more',
      '# load, scale on CPU, or on a metric of the tool itself when it waits for another server.',
    ];
  return [
    '# Fixed: jobs wait in their queue. Two, so that a job whose replica dies continues at another. With more load, scale on the',
    `# depth of the queue, as agents do: stream ${subjects(namespace).workStream('job')}, consumer ${name}.`,
  ];
}

/** Returns the manifests of the gateway: its Deployment, Service, disruption budget and autoscaler. */
export function gatewayManifests(service: DeployedService, namespace: string): string {
  const { name } = service;
  const parts = {
    namespace,
    replicas: scaledByOthers,
    env: [
      ...['- name: MESH_HTTP_HOST', '  value: 0.0.0.0', '- name: MESH_HTTP_PORT', '  value: "8000"'],
      '# An overlay may set oidc or proxy, with their variables (docs/access.md).',
      ...['- name: MESH_HTTP_AUTH', '  value: keys'],
    ],
    grace: [
      '# More than MESH_GRACE_MS and the preStop together, so that the service ends by itself.',
      'terminationGracePeriodSeconds: 40',
    ],
    ports: ['- name: http', '  containerPort: 8000'],
    lifecycle: [
      'lifecycle:',
      '  preStop:',
      '    # Until the endpoints of the Service have forgotten this pod, new connections still come here.',
      '    sleep:',
      '      seconds: 5',
    ],
  };
  return `${deployment(service, parts)}---
apiVersion: v1
kind: Service
metadata:
  name: ${name}
spec:
  selector:
    app.kubernetes.io/name: ${name}
  ports:
    - name: http
      port: 80
      targetPort: http
---
${disruptionBudget(name)}---
# CPU is what a gateway runs out of: it validates, authenticates and copies events, and waits for agents without cost.
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: ${name}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: ${name}
  minReplicas: 2
  maxReplicas: 10
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
  behavior:
    scaleDown:
      # Each gateway that goes makes its clients reconnect.
      stabilizationWindowSeconds: 300
`;
}
