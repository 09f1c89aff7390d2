{{- define "longshore.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "longshore.fullname" -}}
{{- $name := include "longshore.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "longshore.selector" -}}
app.kubernetes.io/name: {{ include "longshore.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "longshore.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "longshore.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "longshore.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "longshore.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ include "longshore.fullname" . }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{- /* Helm reads a large number as a float, which would be printed with an exponent. */}}
{{- define "longshore.value" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{- /* A setting, or the default of the chart: list ROOT NAME DEFAULT */}}
{{- define "longshore.setting" -}}
{{- $settings := (index . 0).Values.settings -}}
{{- include "longshore.value" (get $settings (index . 1) | default (index . 2)) -}}
{{- end }}

{{- define "longshore.httpPort" -}}
{{ include "longshore.setting" (list . "SVC_LISTEN" "0.0.0.0:8080") | splitList ":" | last }}
{{- end }}

{{- define "longshore.metricsPort" -}}
{{ include "longshore.setting" (list . "SVC_METRICS_LISTEN" "0.0.0.0:9090") | splitList ":" | last }}
{{- end }}

{{- /* A few seconds more than a graceful shutdown takes. */}}
{{- define "longshore.terminationGracePeriod" -}}
{{ add 10 (include "longshore.setting" (list . "SVC_DRAIN_SECONDS" "35") | int) }}
{{- end }}

{{- /* The settings as variables: dict "root" ROOT "role" ROLE. Migrations need no catalogue: their ConfigMap does not
exist before the first install. */}}
{{- define "longshore.env" -}}
{{- $values := .root.Values }}
{{- /* The chart's defaults. Endpoints take longer than a second to notice that a pod stops. */}}
{{- $settings := dict "SVC_LISTEN" "0.0.0.0:8080" "SVC_METRICS_LISTEN" "0.0.0.0:9090" }}
{{- $_ := set $settings "SVC_DRAIN_GRACE_MILLISECONDS" "5000" }}
{{- if ne .role "migrate" }}
{{- if $values.models }}{{ $_ := set $settings "SVC_MODELS_FILE" "/etc/longshore/files/models.toml" }}{{ end }}
{{- if $values.providers }}{{ $_ := set $settings "SVC_PROVIDERS_FILE" "/etc/longshore/files/providers.toml" }}{{ end }}
{{- end }}
{{- if eq $values.objectStore.credentials "environment" }}
{{- $_ := set $settings "SVC_OBJECTS_CREDENTIALS" "environment" }}
{{- end }}
{{- range $name, $value := $values.settings }}
{{- if hasKey $values.secrets $name }}{{ fail (printf "%s is in settings and in secrets: remove one" $name) }}{{ end }}
{{- $_ := set $settings $name $value }}
{{- end }}
{{- range $name, $secret := $values.secrets }}
{{- $_ := set $settings (printf "%s_FILE" $name) (printf "/etc/longshore/secrets/%s" $name) }}
{{- end }}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  value: {{ include "longshore.value" $value | quote }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The files from Secrets that a role reads: dict "root" ROOT "role" ROLE */}}
{{- define "longshore.secretFiles" -}}
{{- $values := .root.Values }}
{{- $files := merge (dict) $values.secrets $values.secretFiles }}
{{- if eq .role "work" }}{{ $files = merge $files $values.work.secretFiles }}{{ end }}
{{- range $file, $secret := $files }}
- secret:
    name: {{ $secret.name }}
    items:
      - {key: {{ $secret.key | default $file | quote }}, path: {{ $file | quote }}}
{{- end }}
{{- end }}

{{- /* What the container of every role has in common: dict "root" ROOT "role" ROLE */}}
{{- define "longshore.container" -}}
image: {{ include "longshore.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [{{ .role }}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  {{- include "longshore.env" . | nindent 2 }}
volumeMounts:
  - {name: spool, mountPath: /tmp}
  {{- if include "longshore.secretFiles" . }}
  - {name: secrets, mountPath: /etc/longshore/secrets, readOnly: true}
  {{- end }}
  {{- if and (ne .role "migrate") (or .root.Values.models .root.Values.providers) }}
  - {name: files, mountPath: /etc/longshore/files, readOnly: true}
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* The same for the pod. */}}
{{- define "longshore.pod" -}}
automountServiceAccountToken: false
# A Service whose name begins with svc- would otherwise become a variable SVC_…, which is an unknown setting.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: spool
    emptyDir: {sizeLimit: {{ eq .role "work" | ternary .root.Values.work.spoolSize "64Mi" }}}
  {{- with include "longshore.secretFiles" . }}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- . | nindent 8 }}
  {{- end }}
  {{- if and (ne .role "migrate") (or .root.Values.models .root.Values.providers) }}
  - name: files
    configMap: {name: {{ include "longshore.fullname" .root }}-files}
  {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
